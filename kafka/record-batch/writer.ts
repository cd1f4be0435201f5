import { copyBytes } from '../../schemas/copy-bytes.ts'
import { COMPRESSIONS, type Compression, type RecordHeader } from '../transport.ts'
import { crc32c } from './checksum.ts'
import { compress } from './compression.ts'
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  LENGTH_PREFIX_BYTES,
  MAGIC_AT,
  MAGIC_V2,
  MAX_TIMESTAMP_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  RECORDS_AT,
  TRANSACTIONAL_BIT,
  writeInt64,
} from './format.ts'
import { varintSize, varlongSize, writeVarint, writeVarlong } from './varint.ts'

/** Initial size of the buffer: enough for small transactions. A full buffer grows to at least twice its size. */
const INITIAL_BYTES = 4_096
/**
 * Maximum overhead of a record in addition to its key, value and headers: four varints of at most 5 bytes, one varint
 * of at most 10 bytes, the attributes and an empty list of headers.
 */
const RECORD_OVERHEAD_BYTES = 32
/** Overhead of a header in addition to its key and value: two varints of at most 5 bytes. */
const HEADER_OVERHEAD_BYTES = 10
/** Maximum number of bytes that UTF-8 needs for one UTF-16 code unit. */
const UTF8_WORST = 3

/** The header fields that the producer writes into a finished batch. */
export interface BatchStamp {
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly transactional: boolean
}

/** The stamp of batches that have no producer or are never sent. */
export const NO_STAMP: BatchStamp = { producerId: -1, producerEpoch: -1, baseSequence: -1, transactional: false }

/** A record batch that grows in place. Each record is written once, and `finish` writes the header. */
export class BatchWriter {
  #buffer: Buffer
  #at = RECORDS_AT
  #count = 0
  #baseTimestamp = 0
  #maxTimestamp = 0

  /**
   * @param buffer memory of an earlier batch, to be reused
   */
  constructor(buffer?: Buffer) {
    this.#buffer = buffer ?? Buffer.allocUnsafeSlow(INITIAL_BYTES)
  }

  get count(): number {
    return this.#count
  }

  /** Size of the batch so far, including the header, before compression. */
  get bytes(): number {
    return this.#at
  }

  append(
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers?: readonly RecordHeader[],
  ): void {
    if (this.#count === 0) {
      this.#baseTimestamp = timestamp
      this.#maxTimestamp = timestamp
    } else if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp
    const keyBytes = key === null ? -1 : keyEnd - keyStart
    const valueBytes = value === null ? -1 : valueEnd - valueStart
    const timestampDelta = timestamp - this.#baseTimestamp
    const packedHeaders = headers === undefined || headers.length === 0 ? undefined : packHeaders(headers)
    const length =
      1 +
      varlongSize(timestampDelta) +
      varintSize(this.#count) +
      varintSize(keyBytes) +
      Math.max(keyBytes, 0) +
      varintSize(valueBytes) +
      Math.max(valueBytes, 0) +
      (packedHeaders === undefined ? 1 : packedHeaders.length)
    this.#reserve(length + varintSize(length))
    const buffer = this.#buffer
    let at = writeVarint(buffer, this.#at, length)
    buffer[at++] = 0
    at = writeVarlong(buffer, at, timestampDelta)
    at = writeVarint(buffer, at, this.#count)
    at = writeVarint(buffer, at, keyBytes)
    if (keyBytes > 0) at = copyBytes(key as Uint8Array, keyStart, keyEnd, buffer, at)
    at = writeVarint(buffer, at, valueBytes)
    if (valueBytes > 0) at = copyBytes(value as Uint8Array, valueStart, valueEnd, buffer, at)
    if (packedHeaders === undefined) buffer[at++] = 0
    else at = copyBytes(packedHeaders, 0, packedHeaders.length, buffer, at)
    this.#at = at
    this.#count++
  }

  /**
   * Writes the header and returns the complete batch. Without compression, the result is a view of this writer's
   * memory. Call `release` after the batch is acknowledged, to reuse this memory.
   */
  finish(stamp: BatchStamp, codec: Compression): Buffer {
    let buffer = this.#buffer
    let end = this.#at
    if (codec !== 'none') {
      const packed = compress(codec, buffer.subarray(RECORDS_AT, end))
      end = RECORDS_AT + packed.length
      buffer = Buffer.allocUnsafeSlow(end)
      packed.copy(buffer, RECORDS_AT)
    }
    writeInt64(buffer, BASE_OFFSET_AT, 0)
    buffer.writeInt32BE(end - LENGTH_PREFIX_BYTES, BATCH_LENGTH_AT)
    buffer.writeInt32BE(-1, LEADER_EPOCH_AT)
    buffer[MAGIC_AT] = MAGIC_V2
    buffer.writeInt16BE(COMPRESSIONS.indexOf(codec) | (stamp.transactional ? TRANSACTIONAL_BIT : 0), ATTRIBUTES_AT)
    buffer.writeInt32BE(this.#count - 1, LAST_OFFSET_DELTA_AT)
    writeInt64(buffer, BASE_TIMESTAMP_AT, this.#baseTimestamp)
    writeInt64(buffer, MAX_TIMESTAMP_AT, this.#maxTimestamp)
    writeInt64(buffer, PRODUCER_ID_AT, stamp.producerId)
    buffer.writeInt16BE(stamp.producerEpoch, PRODUCER_EPOCH_AT)
    buffer.writeInt32BE(stamp.baseSequence, BASE_SEQUENCE_AT)
    buffer.writeInt32BE(this.#count, RECORD_COUNT_AT)
    const batch = buffer.subarray(0, end)
    buffer.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
    return batch
  }

  /** Returns the memory of this writer, so that another writer can reuse it. The writer must not be used afterwards. */
  release(): Buffer {
    return this.#buffer
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#at)
    this.#buffer = grown
  }
}

/** Returns an upper bound for the size of a record in a batch. */
export function recordBytesBound(keyBytes: number, valueBytes: number, headers?: readonly RecordHeader[]): number {
  let bytes = RECORD_OVERHEAD_BYTES + keyBytes + valueBytes
  if (headers === undefined) return bytes
  for (const header of headers) bytes += HEADER_OVERHEAD_BYTES + header.key.length * UTF8_WORST + (header.value?.length ?? 0)
  return bytes
}

function packHeaders(headers: readonly RecordHeader[]): Buffer {
  const names = headers.map((header) => Buffer.from(header.key, 'utf8'))
  let size = varintSize(headers.length)
  headers.forEach((header, i) => {
    const valueBytes = header.value?.length ?? -1
    size += varintSize(names[i].length) + names[i].length + varintSize(valueBytes) + Math.max(valueBytes, 0)
  })
  const packed = Buffer.allocUnsafe(size)
  let at = writeVarint(packed, 0, headers.length)
  headers.forEach((header, i) => {
    at = writeVarint(packed, at, names[i].length)
    at = copyBytes(names[i], 0, names[i].length, packed, at)
    at = writeVarint(packed, at, header.value?.length ?? -1)
    if (header.value !== null) at = copyBytes(header.value, 0, header.value.length, packed, at)
  })
  return packed
}
