import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import {
  ATTRIBUTES_AT,
  BASE_SEQUENCE_AT,
  BATCH_LENGTH_AT,
  COMPRESSION_MASK,
  CONTROL_BIT,
  CRC_AT,
  LEADER_EPOCH_AT,
  LENGTH_PREFIX_BYTES,
  LOG_APPEND_TIME_BIT,
  MAGIC_AT,
  MAGIC_V2,
  MAX_TIMESTAMP_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  RECORDS_AT,
  TRANSACTIONAL_BIT,
  writeInt64,
} from '../../../kafka/record-batch/format.ts'

/** A batch as a log stores it. */
export interface Batch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly bytes: Buffer
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly transactional: boolean
  /** Kind of the marker; undefined for a batch of data records. */
  readonly marker: 'commit' | 'abort' | undefined
}

/** Sets the timestamp of a batch to the broker's time, epoch ms. */
export function stampAppendTime(bytes: Buffer, time: number): void {
  bytes.writeInt16BE(bytes.readInt16BE(ATTRIBUTES_AT) | LOG_APPEND_TIME_BIT, ATTRIBUTES_AT)
  writeInt64(bytes, MAX_TIMESTAMP_AT, time)
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
}

/** A record of an uncompressed batch. */
interface BatchRecord {
  /** The key as text; undefined for a record without a key. */
  readonly key: string | undefined
  readonly bytes: Buffer
}

export function recordsOf({ bytes }: Batch): BatchRecord[] {
  let at = RECORDS_AT

  function varint(): number {
    let [value, shift, byte] = [0, 0, 0x80]
    for (; byte >= 0x80; shift += 7) {
      byte = bytes[at++]
      value |= (byte & 0x7f) << shift
    }
    return (value >>> 1) ^ -(value & 1)
  }

  /** Skips a varint of any length. */
  function skipVarint(): void {
    while (bytes[at++] >= 0x80);
  }

  return Array.from({ length: bytes.readInt32BE(RECORD_COUNT_AT) }, () => {
    const start = at
    const length = varint()
    const end = at + length
    at++
    skipVarint()
    skipVarint()
    const keyBytes = varint()
    const key = keyBytes < 0 ? undefined : bytes.toString('latin1', at, at + keyBytes)
    at = end
    return { key, bytes: bytes.subarray(start, end) }
  })
}

/** Returns true if the batch is compressed. The simulated brokers do not compact logs with such batches. */
export function isCompressed({ bytes }: Batch): boolean {
  return (bytes.readInt16BE(ATTRIBUTES_AT) & COMPRESSION_MASK) !== 0
}

/**
 * Returns a copy of the batch with only the given records. The copy keeps the offsets and sequence numbers of the whole
 * batch.
 */
export function withRecords(batch: Batch, records: readonly BatchRecord[]): Batch {
  const bytes = Buffer.concat([batch.bytes.subarray(0, RECORDS_AT), ...records.map((record) => record.bytes)])
  bytes.writeInt32BE(bytes.length - LENGTH_PREFIX_BYTES, BATCH_LENGTH_AT)
  bytes.writeInt32BE(records.length, RECORD_COUNT_AT)
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
  return { ...batch, bytes }
}

/**
 * The bytes of the record in a marker's batch: length, attributes, two deltas, key (version and type), value (version
 * and coordinator epoch), and no headers.
 */
const MARKER_RECORD = Buffer.from([32, 0, 0, 0, 8, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0])
const MARKER_TYPE_AT = 8

/** Returns the batch that ends a transaction. */
export function markerBytes(
  offset: number,
  leaderEpoch: number,
  producerId: number,
  producerEpoch: number,
  marker: 'commit' | 'abort',
): Buffer {
  const bytes = Buffer.alloc(RECORDS_AT + MARKER_RECORD.length)
  writeInt64(bytes, 0, offset)
  bytes.writeInt32BE(bytes.length - LENGTH_PREFIX_BYTES, BATCH_LENGTH_AT)
  bytes.writeInt32BE(leaderEpoch, LEADER_EPOCH_AT)
  bytes[MAGIC_AT] = MAGIC_V2
  bytes.writeInt16BE(TRANSACTIONAL_BIT | CONTROL_BIT, ATTRIBUTES_AT)
  writeInt64(bytes, PRODUCER_ID_AT, producerId)
  bytes.writeInt16BE(producerEpoch, PRODUCER_EPOCH_AT)
  bytes.writeInt32BE(-1, BASE_SEQUENCE_AT)
  bytes.writeInt32BE(1, RECORD_COUNT_AT)
  MARKER_RECORD.copy(bytes, RECORDS_AT)
  bytes[RECORDS_AT + MARKER_TYPE_AT] = marker === 'commit' ? 1 : 0
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
  return bytes
}
