import { type BatchHeader, isAbortMarker, isControl, isTransactional } from './batches.ts'

/** One entry of a fetch response's list: from `firstOffset` to its ABORT marker this producer's records are void. */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

/**
 * Decides, batch by batch in log order, which ones a read_committed reader sees. The list of one response covers
 * all of that response, also transactions that began before it or end behind it, so a filter lives as long as a response.
 */
export class CommittedFilter {
  readonly #pending: readonly AbortedTransaction[]
  readonly #aborting = new Set<number>()
  #next = 0

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#pending = aborted.length > 1 ? [...aborted].sort((a, b) => a.firstOffset - b.firstOffset) : aborted
  }

  /** True when the batch holds records that a processor may see. Must be called for every batch, in order. */
  accepts(buffer: Buffer, batch: BatchHeader): boolean {
    while (this.#next < this.#pending.length && this.#pending[this.#next].firstOffset <= batch.lastOffset) {
      this.#aborting.add(this.#pending[this.#next++].producerId)
    }
    if (isControl(batch)) {
      // After its marker the same producer's next batches count again, until its next aborted transaction begins.
      if (this.#aborting.size > 0 && isAbortMarker(buffer, batch)) this.#aborting.delete(batch.producerId)
      return false
    }
    return !(isTransactional(batch) && this.#aborting.has(batch.producerId))
  }
}
