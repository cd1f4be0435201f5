import type { RecordChunk } from '../transport.ts'
import { type BatchHeader, batchAt, isControl, verifyChecksum } from './batches.ts'
import { ChunkBuilder } from './chunk.ts'
import type { AbortedTransaction } from './committed.ts'
import { CommittedFilter } from './committed.ts'
import { decompress } from './compression.ts'
import { COMPRESSION_MASK, RECORDS_AT } from './format.ts'

/** The record bytes of one partition in one fetch response. */
export interface FetchedRecords {
  readonly topic: string
  readonly partition: number
  readonly records: Buffer
  /** Offset that was asked for: earlier records of the first batch are left out. */
  readonly from: number
  /** Null for read_uncommitted. */
  readonly aborted: readonly AbortedTransaction[] | null
  readonly verifyChecksums: boolean
}

/**
 * Decodes all whole batches into chunks of the records that may be seen.
 * @throws TransportError with code CORRUPT_BATCH; nothing of these bytes may be used then
 */
export function readChunks(fetched: FetchedRecords): RecordChunk[] {
  const { topic, partition, records, from } = fetched
  const filter = fetched.aborted === null ? undefined : new CommittedFilter(fetched.aborted)
  const chunks: RecordChunk[] = []
  // Neighbouring uncompressed batches share one chunk; a compressed batch is a chunk of its own.
  let plain: BatchHeader[] = []
  function finishPlain(): void {
    if (plain.length === 0) return
    const builder = new ChunkBuilder(topic, partition, records, totalRecords(plain))
    for (const batch of plain) builder.addPlain(batch, from)
    push(builder.finish())
    plain = []
  }
  function push(chunk: RecordChunk | undefined): void {
    if (chunk !== undefined) chunks.push(chunk)
  }
  for (let batch = batchAt(records, 0); batch !== undefined; batch = batchAt(records, batch.end)) {
    if (fetched.verifyChecksums) verifyChecksum(records, batch)
    const visible = filter === undefined ? !isControl(batch) : filter.accepts(records, batch)
    if (!visible || batch.lastOffset < from || batch.recordCount === 0) continue
    const codec = batch.attributes & COMPRESSION_MASK
    if (codec === 0) {
      plain.push(batch)
      continue
    }
    finishPlain()
    const unpacked = decompress(codec, records.subarray(batch.start + RECORDS_AT, batch.end))
    const builder = new ChunkBuilder(topic, partition, unpacked, batch.recordCount)
    builder.add(records, batch, 0, unpacked.length, from)
    push(builder.finish())
  }
  finishPlain()
  return chunks
}

function totalRecords(batches: readonly BatchHeader[]): number {
  let total = 0
  for (const batch of batches) total += batch.recordCount
  return total
}
