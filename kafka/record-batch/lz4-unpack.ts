import { copyBytes } from '../../schemas/copy-bytes.ts'
import { blocksOf, lz4UnpackedBytes, sequencesOf } from './lz4-size.ts'

/** Below this size, a loop repeats bytes faster than the functions of Buffer. */
const SHORT_REPEAT_BYTES = 32
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
  let to = position
  let isComplete = false
  sequencesOf(data, start, end, (literalsAt, literals, match) => {
    const literalsEnd = literalsAt + literals
    if (literalsEnd > end) throw new RangeError('the literals of an LZ4 sequence are longer than their block')
    to = copyBytes(data, literalsAt, literalsEnd, out, to)
    isComplete = match === 0
    if (isComplete) return
    const distance = data.readUInt8(literalsEnd) | (data.readUInt8(literalsEnd + 1) << BITS_PER_BYTE)
    if (distance === 0 || distance > to) throw new RangeError('an LZ4 match has an invalid distance')
    to = repeat(out, to, distance, match)
  })
  if (!isComplete) throw new RangeError('an LZ4 block ends inside a sequence')
  return to
}

/**
 * Appends a copy of the `length` bytes that begin `distance` bytes before `to`. If `distance` is less than `length`,
 * the last `distance` bytes before `to` are repeated.
 * @returns the position after them
 */
function repeat(out: Buffer, to: number, distance: number, length: number): number {
  const end = to + length
  if (length < SHORT_REPEAT_BYTES) {
    for (let at = to; at < end; at++) out[at] = out[at - distance]
    return end
  }
  // Each copy doubles the number of bytes that the next one can copy.
  const from = to - distance
  for (let at = to; at < end; ) at += out.copy(out, at, from, Math.min(at, from + end - at))
  return end
}
