/** First bytes of an LZ4 frame, as a little-endian number. */
const FRAME_MAGIC = 0x184d2204
/**
 * Size of the magic number and two descriptor bytes, in bytes. The optional fields and the header's checksum follow.
 */
const FIXED_HEADER_BYTES = 6
const CONTENT_SIZE_BYTES = 8
const DICTIONARY_ID_BYTES = 4
const CHECKSUM_BYTES = 4
const LENGTH_BYTES = 4

const BLOCK_CHECKSUM_FLAG = 0x10
const CONTENT_SIZE_FLAG = 0x08
const CONTENT_CHECKSUM_FLAG = 0x04
const DICTIONARY_ID_FLAG = 0x01
/** Bit of a block's length field. If it is set, the block is stored uncompressed. */
const STORED_BIT = 0x80000000

const NIBBLE_MAX = 15
const LENGTH_BYTE_MAX = 255
const MATCH_OFFSET_BYTES = 2
const MIN_MATCH = 4

/**
 * Computes the unpacked size of LZ4 frames. The decompressor allocates as much memory as the data requires and has no
 * limit, so this function computes the size first. Only the lengths of the sequences are read.
 * @throws RangeError for data that is not a sequence of complete frames
 */
export function lz4UnpackedBytes(data: Buffer): number {
  let total = 0
  blocksOf(data, (start, end, isStored) => {
    total += isStored ? end - start : blockBytes(data, start, end)
  })
  return total
}

/**
 * Visits all blocks of LZ4 frames.
 * @returns the number of frames
 * @throws RangeError for data that is not a sequence of complete frames
 */
export function blocksOf(data: Buffer, visit: (start: number, end: number, isStored: boolean) => void): number {
  let at = 0
  let frames = 0
  while (at < data.length) {
    if (data.readUInt32LE(at) !== FRAME_MAGIC) throw new RangeError(`no LZ4 frame begins at byte ${at}`)
    const flags = data.readUInt8(at + LENGTH_BYTES)
    at += FIXED_HEADER_BYTES + 1
    if ((flags & CONTENT_SIZE_FLAG) !== 0) at += CONTENT_SIZE_BYTES
    if ((flags & DICTIONARY_ID_FLAG) !== 0) at += DICTIONARY_ID_BYTES
    for (let length = data.readUInt32LE(at); length !== 0; length = data.readUInt32LE(at)) {
      at += LENGTH_BYTES
      const bytes = (length & ~STORED_BIT) >>> 0
      if (at + bytes > data.length) throw new RangeError('an LZ4 block extends beyond the end of the data')
      visit(at, at + bytes, (length & STORED_BIT) !== 0)
      at += bytes
      if ((flags & BLOCK_CHECKSUM_FLAG) !== 0) at += CHECKSUM_BYTES
    }
    at += LENGTH_BYTES
    if ((flags & CONTENT_CHECKSUM_FLAG) !== 0) at += CHECKSUM_BYTES
    frames++
  }
  return frames
}

/** Adds up the literals and matches of all sequences in a block. */
function blockBytes(data: Buffer, start: number, end: number): number {
  let total = 0
  sequencesOf(data, start, end, (_literalsAt, literals, match) => {
    total += literals + match
  })
  return total
}

/**
 * Visits all sequences of a block: `literals` bytes at `literalsAt`, and then a match of `match` bytes, whose distance
 * follows the literals. The last sequence of a block has no match, so `match` is 0. In damaged data, literals may
 * extend beyond the block, and the last sequence may be missing.
 * @throws RangeError if a length extends beyond the data
 */
export function sequencesOf(
  data: Buffer,
  start: number,
  end: number,
  visit: (literalsAt: number, literals: number, match: number) => void,
): void {
  let at = start
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
    const literalsAt = at
    at += literals
    if (at >= end) {
      visit(literalsAt, literals, 0)
      return
    }
    at += MATCH_OFFSET_BYTES
    let match = token & NIBBLE_MAX
    if (match === NIBBLE_MAX) {
      let more: number
      do {
        more = data.readUInt8(at++)
        match += more
      } while (more === LENGTH_BYTE_MAX)
    }
    visit(literalsAt, literals, match + MIN_MATCH)
  }
}
