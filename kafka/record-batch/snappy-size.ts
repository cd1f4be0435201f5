/** First bytes of the framing that Snappy streams in Java use. Other producers send a single raw block. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
/** Size of the framing's header: the magic bytes and two version numbers. */
const XERIAL_HEADER_BYTES = 16
const LENGTH_BYTES = 4
const VARINT_BITS = 7
const VARINT_MASK = 0x7f
const MAX_VARINT_BYTES = 5

/**
 * Returns the unpacked size that Snappy data declares. The decompressor allocates this much memory and has no limit.
 * @throws RangeError for data that ends too early or declares no valid size
 */
export function snappyUnpackedBytes(data: Buffer): number {
  if (!data.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return declaredBytes(data, 0)
  let total = 0
  for (let at = XERIAL_HEADER_BYTES; at < data.length; ) {
    const length = data.readUInt32BE(at)
    at += LENGTH_BYTES
    total += declaredBytes(data, at)
    at += length
  }
  return total
}

/** Returns the unpacked size of a block. The block begins with this size as a varint. */
function declaredBytes(data: Buffer, start: number): number {
  let bytes = 0
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = data.readUInt8(start + i)
    bytes += (byte & VARINT_MASK) * 2 ** (VARINT_BITS * i)
    if (byte <= VARINT_MASK) return bytes
  }
  throw new RangeError('a Snappy block declares no valid size')
}
