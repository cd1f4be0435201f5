/**
 * Record batch v2 (magic 2), the only format that Kafka 4 writes. All integers are big-endian. Field positions are
 * relative to the first byte of the batch.
 */
export const BASE_OFFSET_AT = 0
export const BATCH_LENGTH_AT = 8
export const LEADER_EPOCH_AT = 12
export const MAGIC_AT = 16
export const CRC_AT = 17
/** Position of the attributes. The CRC-32C covers all bytes from here to the end of the batch. */
export const ATTRIBUTES_AT = 21
export const LAST_OFFSET_DELTA_AT = 23
export const BASE_TIMESTAMP_AT = 27
export const MAX_TIMESTAMP_AT = 35
export const PRODUCER_ID_AT = 43
export const PRODUCER_EPOCH_AT = 51
export const BASE_SEQUENCE_AT = 53
export const RECORD_COUNT_AT = 57
/** Position of the first byte of the records, compressed or not. */
export const RECORDS_AT = 61

/** Size of the batch up to and including the `batchLength` field. This field counts only the bytes after it. */
export const LENGTH_PREFIX_BYTES = 12
export const MAGIC_V2 = 2

export const COMPRESSION_MASK = 0b111
export const LOG_APPEND_TIME_BIT = 0b1000
export const TRANSACTIONAL_BIT = 0b10000
export const CONTROL_BIT = 0b100000

const TWO_TO_32 = 4_294_967_296

/**
 * Reads a signed 64-bit integer as a number. The number is exact within ±2^53, which is enough for offsets, timestamps
 * and producer ids.
 */
export function readInt64(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * TWO_TO_32 + buffer.readUInt32BE(at + 4)
}

export function writeInt64(buffer: Buffer, at: number, value: number): void {
  buffer.writeInt32BE(Math.floor(value / TWO_TO_32), at)
  buffer.writeUInt32BE(((value % TWO_TO_32) + TWO_TO_32) % TWO_TO_32, at + 4)
}
