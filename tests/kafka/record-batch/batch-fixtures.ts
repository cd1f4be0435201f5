import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import { ATTRIBUTES_AT, BASE_OFFSET_AT, CONTROL_BIT, CRC_AT, LAST_OFFSET_DELTA_AT, writeInt64 } from '../../../kafka/record-batch/format.ts'
import { BatchWriter } from '../../../kafka/record-batch/writer.ts'
import type { Compression, RecordChunk, RecordHeader } from '../../../kafka/transport.ts'

export interface PlainRecord {
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

export interface BatchOptions {
  readonly baseOffset?: number
  readonly producerId?: number
  readonly transactional?: boolean
  readonly codec?: Compression
  /** The number of records that compaction has removed from the end of the batch. The last offset does not change. */
  readonly removedAtEnd?: number
}

export function textRecord(text: string, timestamp = 1_000): PlainRecord {
  return { timestamp, key: Buffer.from(`key of ${text}`), value: Buffer.from(text), headers: [] }
}

/** Encodes a batch as a broker returns it. */
export function batchOf(records: readonly PlainRecord[], options: BatchOptions = {}): Buffer {
  const writer = new BatchWriter()
  for (const { timestamp, key, value, headers } of records) {
    writer.append(timestamp, key, 0, key?.length ?? 0, value, 0, value?.length ?? 0, headers)
  }
  const stamp = { producerId: options.producerId ?? -1, producerEpoch: 0, baseSequence: 0, transactional: options.transactional ?? false }
  const batch = Buffer.from(writer.finish(stamp, options.codec ?? 'none'))
  writeInt64(batch, BASE_OFFSET_AT, options.baseOffset ?? 0)
  if (options.removedAtEnd) batch.writeInt32BE(records.length - 1 + options.removedAtEnd, LAST_OFFSET_DELTA_AT)
  return resigned(batch)
}

/** Encodes the control batch that ends a transaction. */
export function marker(type: 'commit' | 'abort', producerId: number, offset: number): Buffer {
  const key = Buffer.alloc(4)
  key.writeInt16BE(type === 'abort' ? 0 : 1, 2)
  const batch = batchOf([{ timestamp: 1_000, key, value: Buffer.alloc(6), headers: [] }], {
    baseOffset: offset,
    producerId,
    transactional: true,
  })
  batch.writeInt16BE(batch.readInt16BE(ATTRIBUTES_AT) | CONTROL_BIT, ATTRIBUTES_AT)
  return resigned(batch)
}

export function resigned(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT)
  return batch
}

/** Returns the offsets and records of chunks, in order. */
export function recordsOf(chunks: readonly RecordChunk[]): (PlainRecord & { readonly offset: number })[] {
  return chunks.flatMap((chunk) =>
    Array.from({ length: chunk.count }, (_, i) => ({
      offset: chunk.offsets[i],
      timestamp: chunk.timestamps[i],
      key: chunk.keyStart[i] < 0 ? null : chunk.buffer.subarray(chunk.keyStart[i], chunk.keyEnd[i]),
      value: chunk.valueStart[i] < 0 ? null : chunk.buffer.subarray(chunk.valueStart[i], chunk.valueEnd[i]),
      headers: headersOf(chunk, i),
    })),
  )
}

export function valuesOf(chunks: readonly RecordChunk[]): string[] {
  return recordsOf(chunks).map(({ value }) => String(value))
}
