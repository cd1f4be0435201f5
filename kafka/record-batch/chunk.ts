import type { RecordChunk, RecordHeader } from '../transport.ts'
import { type BatchHeader, corrupt } from './batches.ts'
import { BASE_TIMESTAMP_AT, LOG_APPEND_TIME_BIT, MAX_TIMESTAMP_AT, RECORDS_AT, readInt64 } from './format.ts'
import { VarintCursor } from './varint.ts'

/** A chunk has two columns of 64-bit floats (offset, timestamp) and five columns of 32-bit positions. */
const FLOAT_COLUMNS = 2
const INT_COLUMNS = 5
const FLOAT_BYTES = 8
const INT_BYTES = 4
const NO_BYTES = Buffer.alloc(0)

const cursor = new VarintCursor()

/** Returns the size of the columns for this many records, in bytes. */
export function columnBytes(records: number): number {
  return records * (FLOAT_COLUMNS * FLOAT_BYTES + INT_COLUMNS * INT_BYTES)
}

/**
 * Builds a chunk from the records of one or more batches in one buffer. All seven columns share one allocation, because
 * even a batch with a single record would otherwise need seven allocations.
 */
export class ChunkBuilder {
  readonly #topic: string
  readonly #partition: number
  readonly #buffer: Buffer
  readonly #offsets: Float64Array
  readonly #timestamps: Float64Array
  readonly #keyStart: Int32Array
  readonly #keyEnd: Int32Array
  readonly #valueStart: Int32Array
  readonly #valueEnd: Int32Array
  readonly #headerStart: Int32Array
  #count = 0

  /** @param capacity maximum number of records that will be added */
  constructor(topic: string, partition: number, buffer: Buffer, capacity: number) {
    this.#topic = topic
    this.#partition = partition
    this.#buffer = buffer
    const memory = new ArrayBuffer(columnBytes(capacity))
    const ints = FLOAT_COLUMNS * FLOAT_BYTES * capacity
    const column = (index: number) => new Int32Array(memory, ints + index * INT_BYTES * capacity, capacity)
    this.#offsets = new Float64Array(memory, 0, capacity)
    this.#timestamps = new Float64Array(memory, FLOAT_BYTES * capacity, capacity)
    this.#keyStart = column(0)
    this.#keyEnd = column(1)
    this.#valueStart = column(2)
    this.#valueEnd = column(3)
    this.#headerStart = column(4)
  }

  /**
   * Adds the records of `batch` whose offset is `from` or higher. Earlier records are skipped, because a batch may
   * begin before the requested offset.
   * @param header the buffer that contains the batch's header. If the batch was compressed, this is not the chunk's
   * buffer
   * @param at position of the batch's first record byte in this chunk's buffer
   * @param end position after the batch's last record byte in this chunk's buffer
   */
  add(header: Buffer, batch: BatchHeader, at: number, end: number, from: number): void {
    const buffer = this.#buffer
    const { baseOffset, recordCount } = batch
    const baseTimestamp = readInt64(header, batch.start + BASE_TIMESTAMP_AT)
    const appendTime = (batch.attributes & LOG_APPEND_TIME_BIT) !== 0 ? readInt64(header, batch.start + MAX_TIMESTAMP_AT) : -1
    let row = this.#count
    let next = at
    for (let i = 0; i < recordCount; i++) {
      cursor.at = next
      const length = cursor.readInt(buffer)
      next = cursor.at + length
      if (!(length > 0 && next <= end)) throw corrupt(baseOffset, `ends inside record ${i} of ${recordCount}`)
      cursor.at += 1
      const timestampDelta = cursor.readLong(buffer)
      const offset = baseOffset + cursor.readInt(buffer)
      if (offset < from) continue
      const keyBytes = cursor.readInt(buffer)
      const keyStart = cursor.at
      if (keyBytes > 0) cursor.at += keyBytes
      const valueBytes = cursor.readInt(buffer)
      const valueStart = cursor.at
      if (valueBytes > 0) cursor.at += valueBytes
      const headerStart = cursor.at
      if (headerStart >= next) throw corrupt(baseOffset, `is damaged: record ${i} is shorter than its key and value`)
      this.#offsets[row] = offset
      this.#timestamps[row] = appendTime < 0 ? baseTimestamp + timestampDelta : appendTime
      this.#keyStart[row] = keyBytes < 0 ? -1 : keyStart
      this.#keyEnd[row] = keyBytes < 0 ? -1 : keyStart + keyBytes
      this.#valueStart[row] = valueBytes < 0 ? -1 : valueStart
      this.#valueEnd[row] = valueBytes < 0 ? -1 : valueStart + valueBytes
      this.#headerStart[row] = buffer[headerStart] === 0 ? -1 : headerStart
      row++
    }
    this.#count = row
  }

  /** Adds the records of an uncompressed batch. Its bytes are in this chunk's own buffer. */
  addPlain(batch: BatchHeader, from: number): void {
    this.add(this.#buffer, batch, batch.start + RECORDS_AT, batch.end, from)
  }

  /** Returns the chunk; undefined when no record was added. */
  finish(): RecordChunk | undefined {
    if (this.#count === 0) return undefined
    return {
      topic: this.#topic,
      partition: this.#partition,
      buffer: this.#buffer,
      count: this.#count,
      offsets: this.#offsets,
      timestamps: this.#timestamps,
      keyStart: this.#keyStart,
      keyEnd: this.#keyEnd,
      valueStart: this.#valueStart,
      valueEnd: this.#valueEnd,
      headerStart: this.#headerStart,
    }
  }
}

/** Returns the chunk that replaces an unreadable batch. The chunk has a single record without contents. */
export function standIn(topic: string, partition: number, header: Buffer, batch: BatchHeader, from: number, reason: string): RecordChunk {
  const isAppendTime = (batch.attributes & LOG_APPEND_TIME_BIT) !== 0
  const nothing = Int32Array.of(-1)
  return {
    topic,
    partition,
    buffer: NO_BYTES,
    count: 1,
    offsets: Float64Array.of(Math.max(batch.baseOffset, from)),
    timestamps: Float64Array.of(readInt64(header, batch.start + (isAppendTime ? MAX_TIMESTAMP_AT : BASE_TIMESTAMP_AT))),
    keyStart: nothing,
    keyEnd: nothing,
    valueStart: nothing,
    valueEnd: nothing,
    headerStart: nothing,
    unreadable: reason,
  }
}

/** Returns a chunk without the first `rows` records. */
export function rowsFrom(chunk: RecordChunk, rows: number): RecordChunk {
  return {
    ...chunk,
    count: chunk.count - rows,
    offsets: chunk.offsets.subarray(rows),
    timestamps: chunk.timestamps.subarray(rows),
    keyStart: chunk.keyStart.subarray(rows),
    keyEnd: chunk.keyEnd.subarray(rows),
    valueStart: chunk.valueStart.subarray(rows),
    valueEnd: chunk.valueEnd.subarray(rows),
    headerStart: chunk.headerStart.subarray(rows),
  }
}

/** Returns the headers of record `index`; an empty list when there are none. */
export function headersOf(chunk: RecordChunk, index: number): RecordHeader[] {
  const start = chunk.headerStart[index]
  if (start < 0) return []
  const { buffer } = chunk
  cursor.at = start
  const count = cursor.readInt(buffer)
  const headers: RecordHeader[] = []
  for (let i = 0; i < count; i++) {
    const key = takeBytes(buffer)?.toString('utf8') ?? ''
    headers.push({ key, value: takeBytes(buffer) })
  }
  return headers
}

function takeBytes(buffer: Buffer): Buffer | null {
  const bytes = cursor.readInt(buffer)
  if (bytes < 0) return null
  const start = cursor.at
  cursor.at += bytes
  return buffer.subarray(start, cursor.at)
}
