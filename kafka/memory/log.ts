import { readChunks } from '../record-batch/reader.ts'
import { BatchWriter, NO_STAMP } from '../record-batch/writer.ts'
import type { RecordChunk, RecordHeader } from '../transport.ts'

export interface LogRecord {
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** A record before it has an offset. */
export type NewRecord = Omit<LogRecord, 'offset'>

/** The log of one partition. Offsets ascend; control records and compaction leave gaps between them. */
export interface PartitionLog {
  readonly startOffset: number
  readonly endOffset: number
  append(record: NewRecord): void
  /** Uses up one offset, as a commit or abort marker does. Readers see no record at that offset. */
  appendControl(): void
  /**
   * Returns at most `limit` records, beginning at an offset. Stops after the record with which the total size of keys
   * and values reaches `maxBytes`.
   */
  read(from: number, limit: number, maxBytes?: number): LogRecord[]
  /**
   * Returns the offset of the first record with this timestamp (epoch ms) or a later one; undefined if there is none.
   */
  offsetSince(timestamp: number): number | undefined
  /** Removes records below an offset, as retention does. */
  truncateBefore(offset: number): void
  /** Keeps only the last record of every key. Removes tombstones and, as a broker does, records without a key. */
  compact(): void
}

/** Returns the total size of key and value in bytes. */
function bytesOf({ key, value }: LogRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0)
}

export function partitionLog(): PartitionLog {
  let records: LogRecord[] = []
  let startOffset = 0
  let endOffset = 0

  /** Returns the index of the first record at or after an offset. */
  function indexOf(offset: number): number {
    let low = 0
    let high = records.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (records[middle].offset < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    get startOffset() {
      return startOffset
    },
    get endOffset() {
      return endOffset
    },
    append(record) {
      records.push({ ...record, offset: endOffset++ })
    },
    appendControl() {
      endOffset++
    },
    read(from, limit, maxBytes = Infinity) {
      const first = indexOf(from)
      const found = records.slice(first, first + limit)
      if (maxBytes === Infinity) return found
      let bytes = 0
      const behind = found.findIndex((record) => {
        if (bytes >= maxBytes) return true
        bytes += bytesOf(record)
        return false
      })
      return behind < 0 ? found : found.slice(0, behind)
    },
    offsetSince: (timestamp) => records.find((record) => record.timestamp >= timestamp)?.offset,
    truncateBefore(offset) {
      startOffset = Math.max(startOffset, Math.min(offset, endOffset))
      records = records.slice(indexOf(startOffset))
    },
    compact() {
      const last = new Map<string, number>()
      for (const { key, offset } of records) if (key !== null) last.set(key.toString('latin1'), offset)
      records = records.filter(({ key, value, offset }) => key !== null && value !== null && last.get(key.toString('latin1')) === offset)
    },
  }
}

/**
 * Encodes the records with the real record-batch codec and decodes them again, so that they have the same form as
 * fetched records.
 */
export function chunksOf(topic: string, partition: number, records: readonly LogRecord[]): RecordChunk[] {
  if (records.length === 0) return []
  const writer = new BatchWriter()
  for (const { timestamp, key, value, headers } of records)
    writer.append(timestamp, key, 0, key?.length ?? 0, value, 0, value?.length ?? 0, headers)
  const bytes = writer.finish(NO_STAMP, 'none')
  const chunks = readChunks({ topic, partition, records: bytes, from: 0, aborted: null, verifyChecksums: false })
  // Records in a batch are numbered without gaps, so these numbers are replaced by the offsets of the log.
  for (const chunk of chunks) for (let i = 0; i < chunk.count; i++) chunk.offsets[i] = records[chunk.offsets[i]].offset
  return chunks
}
