import { TransportError } from '../transport.ts'
import { crc32c } from './checksum.ts'
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BATCH_LENGTH_AT,
  CONTROL_BIT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  LENGTH_PREFIX_BYTES,
  MAGIC_AT,
  MAGIC_V2,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  RECORDS_AT,
  readInt64,
  TRANSACTIONAL_BIT,
} from './format.ts'
import { VarintCursor } from './varint.ts'

/** The position of a complete batch in a fetch response, and the fields of its header. */
export interface BatchHeader {
  readonly start: number
  readonly end: number
  readonly baseOffset: number
  /**
   * Offset of the last record that was written into the batch. Compaction may remove that record but does not change
   * this field, so the next batch of the log always begins after this offset.
   */
  readonly lastOffset: number
  readonly attributes: number
  readonly producerId: number
  readonly recordCount: number
}

/** The key of a control record consists of a version and a type, both 16 bits long. Type 0 is ABORT. */
const CONTROL_TYPE_AT = 2
const CONTROL_KEY_BYTES = 4
const ABORT_TYPE = 0

/**
 * Parses the header of the batch at `start`. Returns undefined when the response ends before or inside the batch. A
 * broker cuts a response at its byte limit, and the next fetch returns the whole batch.
 * @throws TransportError with code CORRUPT_BATCH for a batch of another version or with an invalid length
 */
export function batchAt(buffer: Buffer, start: number): BatchHeader | undefined {
  if (start + RECORDS_AT > buffer.length) return undefined
  const length = buffer.readInt32BE(start + BATCH_LENGTH_AT)
  const magic = buffer[start + MAGIC_AT]
  const baseOffset = readInt64(buffer, start + BASE_OFFSET_AT)
  if (magic !== MAGIC_V2) throw corrupt(baseOffset, `has format ${magic}; only format 2 (Kafka 0.11 and newer) is supported`)
  if (length < RECORDS_AT - LENGTH_PREFIX_BYTES) throw corrupt(baseOffset, `has an invalid length of ${length} bytes`)
  const end = start + LENGTH_PREFIX_BYTES + length
  if (end > buffer.length) return undefined
  return {
    start,
    end,
    baseOffset,
    lastOffset: baseOffset + buffer.readInt32BE(start + LAST_OFFSET_DELTA_AT),
    attributes: buffer.readInt16BE(start + ATTRIBUTES_AT),
    producerId: readInt64(buffer, start + PRODUCER_ID_AT),
    recordCount: buffer.readInt32BE(start + RECORD_COUNT_AT),
  }
}

/** The end of the complete batches in a fetch response. */
export interface BatchesEnd {
  /** The offset after the last complete batch. */
  readonly offset: number
  /** The epoch of the leader that appended the last complete batch. */
  readonly leaderEpoch: number
}

/**
 * Finds where the complete batches of a response end.
 * @returns `from` when there is no complete batch
 */
export function endOfBatches(buffer: Buffer, from: BatchesEnd): BatchesEnd {
  let { offset, leaderEpoch } = from
  for (let at = 0; ; ) {
    const batch = batchAt(buffer, at)
    if (batch === undefined) return { offset, leaderEpoch }
    // A batch that ends before the requested offset must not move the offset back.
    offset = Math.max(offset, batch.lastOffset + 1)
    leaderEpoch = buffer.readInt32BE(at + LEADER_EPOCH_AT)
    at = batch.end
  }
}

export function isControl(batch: BatchHeader): boolean {
  return (batch.attributes & CONTROL_BIT) !== 0
}

export function isTransactional(batch: BatchHeader): boolean {
  return (batch.attributes & TRANSACTIONAL_BIT) !== 0
}

/**
 * Verifies the checksum of a batch.
 * @throws TransportError with code CORRUPT_BATCH when the bytes are not those that the producer wrote
 */
export function verifyChecksum(buffer: Buffer, batch: BatchHeader): void {
  const stored = buffer.readUInt32BE(batch.start + CRC_AT)
  const actual = crc32c(buffer.subarray(batch.start + ATTRIBUTES_AT, batch.end)) >>> 0
  if (stored !== actual) throw corrupt(batch.baseOffset, `has checksum ${actual}, but its header contains ${stored}`)
}

const markerCursor = new VarintCursor()

/**
 * Returns true for the marker that ends an aborted transaction. Control batches are never compressed and contain one
 * record. Compaction removes the record of an old marker, but keeps the header while the broker still needs the epoch
 * of the producer. Returns false for a marker without its record, because no response lists its transaction as aborted.
 */
export function isAbortMarker(buffer: Buffer, batch: BatchHeader): boolean {
  if (batch.recordCount === 0) return false
  markerCursor.at = batch.start + RECORDS_AT
  markerCursor.readInt(buffer)
  markerCursor.at += 1
  markerCursor.readLong(buffer)
  markerCursor.readInt(buffer)
  const keyBytes = markerCursor.readInt(buffer)
  if (keyBytes < CONTROL_KEY_BYTES || markerCursor.at + keyBytes > batch.end)
    throw corrupt(batch.baseOffset, 'is a control batch without a type')
  return buffer.readInt16BE(markerCursor.at + CONTROL_TYPE_AT) === ABORT_TYPE
}

export function corrupt(baseOffset: number, what: string): TransportError {
  return new TransportError('CORRUPT_BATCH', `the record batch at offset ${baseOffset} ${what}`, { fatal: true })
}
