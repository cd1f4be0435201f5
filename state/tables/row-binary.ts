import { type ByteWriter, byteWriter } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import { checkTime } from './time.ts'

const MORE = 0x80
const LOW_BITS = 0x7f
const BITS = 7
const MS_PER_SECOND = 1_000
const TWO_32 = 2 ** 32
/** Maximum number of bytes that the encoded length of a string or an array takes. */
const MAX_LENGTH_BYTES = 5
const MAX_BYTES_PER_UNIT = 3
const INT64_BYTES = 8

/** The topic and the partition that contain the records of an insert. */
export interface InsertSource {
  readonly topic: string
  readonly partition: number
}

/**
 * Rows of one insert in ClickHouse's RowBinary format: the values of each row, one after another, in the order of the
 * table's `binaryColumns`. `endRow` adds the columns that every table has. Numbers are little-endian.
 */
export class RowBinary {
  readonly source: InsertSource
  readonly values = new PlainValues(byteWriter())
  /** The encoded values of the columns for topic and partition. */
  readonly #place: Buffer
  /** The offset of the first record that has a row; -1 if there are no rows. */
  firstOffset = -1
  lastOffset = -1
  /** Number of rows. */
  count = 0

  constructor(source: InsertSource) {
    this.source = source
    const place = new PlainValues(byteWriter())
    place.text(source.topic)
    place.uint32(source.partition)
    this.#place = place.bytes
  }

  /** @param offset the offset of the record to which the row belongs */
  endRow(offset: number): void {
    this.values.raw(this.#place, 0, this.#place.length)
    this.values.uint64(offset)
    if (this.count === 0) this.firstOffset = offset
    this.lastOffset = offset
    this.count++
  }

  /** Removes rows and values that were added after this state was saved. */
  restore({ size, firstOffset, lastOffset, count }: RowBinaryState): void {
    this.values.truncate(size)
    this.firstOffset = firstOffset
    this.lastOffset = lastOffset
    this.count = count
  }

  get bytes(): Buffer {
    return this.values.bytes
  }
}

type RowBinaryState = Pick<RowBinary, 'firstOffset' | 'lastOffset' | 'count'> & {
  /** Number of bytes written. */
  readonly size: number
}

/** Writes single values. */
export class PlainValues {
  readonly #out: ByteWriter

  constructor(out: ByteWriter) {
    this.#out = out
  }

  get bytes(): Buffer {
    return this.#out.buffer.subarray(0, this.#out.length)
  }

  /** Number of bytes written. */
  get size(): number {
    return this.#out.length
  }

  /** Removes all bytes after the first `size` bytes. */
  truncate(size: number): void {
    this.#out.length = size
  }

  text(text: string): void {
    const out = this.#out
    out.reserve(MAX_LENGTH_BYTES + text.length * MAX_BYTES_PER_UNIT)
    // Most texts are short ASCII, whose length takes one byte.
    const bytes = out.buffer.write(text, out.length + 1)
    if (bytes < MORE) {
      out.buffer[out.length] = bytes
      out.length += 1 + bytes
      return
    }
    this.length(bytes)
    out.length += out.buffer.write(text, out.length)
  }

  /** Writes bytes as a string. */
  textBytes(bytes: Uint8Array, start: number, end: number): void {
    this.length(end - start)
    this.raw(bytes, start, end)
  }

  /** Writes the length of an array or a string. The items or bytes must follow. */
  length(length: number): void {
    const out = this.#out
    out.reserve(MAX_LENGTH_BYTES)
    let rest = length
    for (; rest >= MORE; rest >>>= BITS) out.buffer[out.length++] = (rest & LOW_BITS) | MORE
    out.buffer[out.length++] = rest
  }

  uint8(number: number): void {
    const out = this.#out
    out.reserve(1)
    out.buffer[out.length++] = number
  }

  uint16(number: number): void {
    const out = this.#out
    out.reserve(2)
    out.buffer[out.length++] = number
    out.buffer[out.length++] = number >>> 8
  }

  /** Writes a UInt32 or an Int32. */
  uint32(number: number): void {
    const out = this.#out
    out.reserve(4)
    const { buffer } = out
    buffer[out.length++] = number
    buffer[out.length++] = number >>> 8
    buffer[out.length++] = number >>> 16
    buffer[out.length++] = number >>> 24
  }

  /**
   * Writes a UInt64, an Int64 or a DateTime64(3).
   * @param number an integer that a double represents exactly
   */
  uint64(number: number): void {
    this.uint32(number % TWO_32)
    this.uint32(Math.floor(number / TWO_32))
  }

  /**
   * Writes a DateTime.
   * @param time epoch ms
   * @throws ImpossibleTimeError
   */
  dateTime(time: number): void {
    checkTime(time)
    this.uint32(Math.floor(time / MS_PER_SECOND))
  }

  /** Writes an Int64 that a double may be unable to represent exactly. */
  int64(number: bigint): void {
    const out = this.#out
    out.reserve(INT64_BYTES)
    out.length = out.buffer.writeBigInt64LE(number, out.length)
  }

  raw(bytes: Uint8Array, start: number, end: number): void {
    const out = this.#out
    out.reserve(end - start)
    out.length = copyBytes(bytes, start, end, out.buffer, out.length)
  }
}
