import { type ByteWriter, byteWriter } from '../../schemas/codec.ts'
import type { ByteSpan, Context, Topic } from '../engine/index.ts'
import type { pendingCells } from './pending-cells.ts'
import { appendTerm, type TermCells } from './term-cells.ts'

/**
 * Size at which a record is sent, a quarter of what brokers accept. A record of this size has a few thousand terms.
 * Stage 2 processes them in tens of milliseconds, and nothing else runs during this time.
 */
const FULL_BYTES = 262_144

/**
 * Collects cells and sends them to the partitions of their terms. A record contains many terms, because a record per
 * term would cost more.
 */
export function cellBatches(topic: Topic<number, TermCells>) {
  const batches = new Map<number, ByteWriter>()

  function send(pending: ReturnType<typeof pendingCells>, ctx: Context): void {
    pending.drain(FULL_BYTES, (term, cells) => append(ctx.partitionBy(topic, term), term, cells, ctx))
    for (const partition of batches.keys()) emit(partition, ctx)
  }

  /** Copies the packed cells of a term into the partition's record. */
  function append(partition: number, term: Readonly<ByteSpan>, cells: Readonly<ByteSpan>, ctx: Context): void {
    let batch = batches.get(partition)
    if (batch === undefined) {
      batch = byteWriter()
      batches.set(partition, batch)
    }
    appendTerm(term, cells, batch)
    if (batch.length > FULL_BYTES) emit(partition, ctx)
  }

  function emit(partition: number, ctx: Context): void {
    const batch = batches.get(partition)
    if (batch === undefined || batch.length === 0) return
    ctx.emit(topic, partition, { terms: [], encoded: batch.buffer.subarray(0, batch.length) }, { partition })
    batch.length = 0
  }

  return { send }
}
