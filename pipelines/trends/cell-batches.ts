import type { CellsOfTerm, TermCell, TermCells } from '../../schemas/trends/types.ts'
import type { Context, Topic } from '../engine/index.ts'

/**
 * Estimated size of the largest record. It is a quarter of what brokers accept, and its few thousand terms take stage 2
 * some tens of milliseconds, during which nothing else runs.
 */
const MAX_BYTES = 262_144
/** UTF-8 needs at most three bytes per UTF-16 code unit. */
const BYTES_PER_UNIT = 3
/** Upper bounds for the encoded numbers of a sample, and of a minute, form or cell. */
const BYTES_PER_SAMPLE = 30
const BYTES_PER_PART = 20

interface Batch {
  terms: CellsOfTerm[]
  bytes: number
}

/** Sends cells to the partitions of their terms, with many terms in a record, because a record per term costs more. */
export function cellBatches(topic: Topic<number, TermCells>) {
  function send(all: Iterable<CellsOfTerm>, ctx: Context): void {
    const batches = new Map<number, Batch>()
    for (const { term, cells } of all) {
      const partition = ctx.partitionBy(topic, term)
      let batch = batches.get(partition) ?? emptyBatch()
      let terms: CellsOfTerm | undefined
      for (const cell of cells) {
        const bytes = bytesOf(cell) + (terms === undefined ? term.length * BYTES_PER_UNIT : 0)
        if (batch.bytes > 0 && batch.bytes + bytes > MAX_BYTES) {
          emit(partition, batch, ctx)
          batch = emptyBatch()
          terms = undefined
        }
        if (terms === undefined) {
          terms = { term, cells: [] }
          batch.terms.push(terms)
        }
        terms.cells.push(cell)
        batch.bytes += bytes
      }
      batches.set(partition, batch)
    }
    for (const [partition, batch] of batches) emit(partition, batch, ctx)
  }

  function emit(partition: number, { terms }: Batch, ctx: Context): void {
    ctx.emit(topic, partition, { terms }, { partition })
  }

  return { send }
}

function emptyBatch(): Batch {
  return { terms: [], bytes: 0 }
}

function bytesOf({ minutes, forms, samples }: TermCell): number {
  let bytes = BYTES_PER_PART * (1 + minutes.length + forms.length) + BYTES_PER_SAMPLE * samples.length
  for (const { form } of forms) bytes += form.length * BYTES_PER_UNIT
  return bytes
}
