import { inflateSync } from 'node:zlib'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { qrCode } from '../../../api/links/qr.ts'

/**
 * Offset of the first data chunk in bytes. The chunk follows the signature of 8 bytes and the header chunk of 25 bytes:
 * 4 bytes length, 4 bytes type, 13 bytes data and 4 bytes checksum.
 */
const DATA_CHUNK = 8 + 25
const CHUNK_TYPE_BYTES = 8

test.each([64, 67, 256, 300])('in a PNG that is %i pixels wide and high, every pixel has the colour of its QR code module', (pixels) => {
  const { data } = encode('https://sho.rt/3xK9dQa', { ecc: 'M', border: 4 })
  const png = Buffer.from(qrCode('https://sho.rt/3xK9dQa', 'png', pixels) as Uint8Array)
  const start = DATA_CHUNK + CHUNK_TYPE_BYTES
  const lines = inflateSync(png.subarray(start, start + png.readUInt32BE(DATA_CHUNK)))
  const lineBytes = Math.ceil(pixels / 8) + 1
  expect(lines.length).toBe(pixels * lineBytes)
  const scale = Math.floor(pixels / data.length)
  const offset = Math.floor((pixels - scale * data.length) / 2)
  const wrong: string[] = []
  for (let y = 0; y < pixels; y++) {
    if (lines[y * lineBytes] !== 0) wrong.push(`filter of line ${y}`)
    for (let x = 0; x < pixels; x++) {
      const isDark = data[Math.floor((y - offset) / scale)]?.[Math.floor((x - offset) / scale)] === true
      const isDrawn = (lines[y * lineBytes + 1 + (x >> 3)] & (0x80 >> (x & 7))) === 0
      if (isDark !== isDrawn) wrong.push(`${x},${y}`)
    }
  }
  expect(wrong).toEqual([])
})
