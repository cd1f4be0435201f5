import { blocksOf, LENGTH_BYTE_MAX, lz4UnpackedBytes, MATCH_OFFSET_BYTES, MIN_MATCH, NIBBLE_MAX } from './lz4-size.ts'

/** Below this size, a loop copies bytes faster than the functions of Buffer. */
const SHORT_COPY_BYTES = 32
const BITS_PER_BYTE = 8

/**
 * Unpacks LZ4 frames. Checksums are not verified, because the checksum of the record batch covers the same bytes. Java
 * does not verify the checksum of the content either, so a producer may write a wrong one without noticing.
 * @returns undefined when the data unpacks to more than `maxBytes`
 * @throws RangeError for damaged data
 */
export function unpackLz4(data: Buffer, maxBytes: number): Buffer | undefined {
  const bytes = lz4UnpackedBytes(data)
  if (bytes > maxBytes) return undefined
  const out = Buffer.allocUnsafeSlow(bytes)
  let to = 0
  blocksOf(data, (start, end, isStored) => {
    to = isStored ? to + data.copy(out, to, start, end) : unpackBlock(data, start, end, out, to)
  })
  return out
}

/** @returns the position in `out` after the unpacked block */
function unpackBlock(data: Buffer, start: number, end: number, out: Buffer, position: number): number {
  let at = start
  let to = position
  while (at < end) {
    const token = data[at++]
    let literals = token >>> 4
    if (literals === NIBBLE_MAX) {
      let more: number
      do {
        more = data.readUInt8(at++)
        literals += more
      } while (more === LENGTH_BYTE_MAX)
    }
    if (at + literals > end) throw new RangeError('the literals of an LZ4 sequence are longer than their block')
    if (literals < SHORT_COPY_BYTES) for (let i = 0; i < literals; i++) out[to + i] = data[at + i]
    else data.copy(out, to, at, at + literals)
    to += literals
    at += literals
    if (at === end) return to
    const distance = data.readUInt8(at) | (data.readUInt8(at + 1) << BITS_PER_BYTE)
    at += MATCH_OFFSET_BYTES
    if (distance === 0 || distance > to) throw new RangeError('an LZ4 match begins before the data')
    let match = token & NIBBLE_MAX
    if (match === NIBBLE_MAX) {
      let more: number
      do {
        more = data.readUInt8(at++)
        match += more
      } while (more === LENGTH_BYTE_MAX)
    }
    to = repeat(out, to, distance, match + MIN_MATCH)
  }
  throw new RangeError('an LZ4 block ends inside a sequence')
}

/**
 * Appends bytes that occur `distance` bytes earlier. If there are fewer than `length` of them, they repeat.
 * @returns the position after them
 */
function repeat(out: Buffer, to: number, distance: number, length: number): number {
  const end = to + length
  if (length < SHORT_COPY_BYTES) {
    for (let at = to; at < end; at++) out[at] = out[at - distance]
    return end
  }
  // Each copy doubles the number of bytes that the next one can copy.
  const from = to - distance
  for (let at = to; at < end; ) at += out.copy(out, at, from, Math.min(at, from + end - at))
  return end
}
