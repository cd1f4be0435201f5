import { crc32, deflateSync } from 'node:zlib'
import { encode } from 'uqr'

export const QR_FORMATS = ['svg', 'png'] as const
export type QrFormat = (typeof QR_FORMATS)[number]

/**
 * Minimum size of an image, in pixels. With its margins, the code of the longest short URL (119 characters) has 53
 * modules a side, and each module needs at least one pixel.
 */
export const MIN_QR_PIXELS = 64
export const MAX_QR_PIXELS = 2_048
/** Width of the quiet zone that the standard requires, in modules. */
const QUIET_ZONE = 4

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** The images are grayscale with one bit per pixel. */
const PNG_BIT_DEPTH = 1
const PNG_GRAYSCALE = 0
const PNG_HEADER_BYTES = 13
const BITS_PER_BYTE = 8

export function qrCode(text: string, format: QrFormat, pixels: number): string | Uint8Array {
  const { data } = encode(text, { ecc: 'M', border: QUIET_ZONE })
  return format === 'svg' ? svgOf(data, pixels) : pngOf(data, pixels)
}

/** Draws the QR code as one path of unit squares, so that it is sharp at every size. */
function svgOf(modules: readonly (readonly boolean[])[], pixels: number): string {
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const size = modules.length
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`
}

/**
 * Draws all modules at the same size, because scanners need even edges, and centres the code. Each row of modules is
 * drawn once and then copied, because drawing every pixel of a large image would delay other requests by 0.1 s.
 */
function pngOf(modules: readonly (readonly boolean[])[], pixels: number): Uint8Array {
  const scale = Math.floor(pixels / modules.length)
  const offset = Math.floor((pixels - scale * modules.length) / 2)
  /** Length of a line. The first byte of a line is the filter type, which is always 0 (none). */
  const lineBytes = Math.ceil(pixels / BITS_PER_BYTE) + 1
  const lines = Buffer.alloc(pixels * lineBytes, 0xff)
  for (let y = 0; y < pixels; y++) lines[y * lineBytes] = 0
  for (const [index, row] of modules.entries()) {
    const first = (offset + index * scale) * lineBytes
    const line = lines.subarray(first, first + lineBytes)
    for (const [column, isDark] of row.entries()) if (isDark) darken(line.subarray(1), offset + column * scale, scale)
    for (let copy = 1; copy < scale; copy++) line.copy(lines, first + copy * lineBytes)
  }
  const header = Buffer.alloc(PNG_HEADER_BYTES)
  header.writeUInt32BE(pixels, 0)
  header.writeUInt32BE(pixels, 4)
  header[8] = PNG_BIT_DEPTH
  header[9] = PNG_GRAYSCALE
  return Buffer.concat([PNG_SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(lines)), chunk('IEND', Buffer.alloc(0))])
}

/** Makes pixels of a line black. A line has one bit per pixel. */
function darken(line: Buffer, from: number, count: number): void {
  for (let x = from; x < from + count; x++) line[x >> 3] &= ~(0x80 >> (x & 7))
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}
