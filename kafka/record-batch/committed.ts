import { type BatchHeader, isAbortMarker, isControl, isTransactional } from './batches.ts'

/**
 * An aborted transaction, as a fetch response lists it. All records of this producer from `firstOffset` up to the
 * producer's next ABORT marker are aborted.
 */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

/**
 * Decides, batch by batch in log order, which batches a read_committed reader receives. Each response needs a new
 * filter, because the list of aborted transactions in a response applies only to the records of that response. The list
 * includes transactions that begin before the response or end after it.
 */
export class CommittedFilter {
  readonly #pending: readonly AbortedTransaction[]
  readonly #aborting = new Set<number>()
  #next = 0

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#pending = aborted.length > 1 ? [...aborted].sort((a, b) => a.firstOffset - b.firstOffset) : aborted
  }

  /** Returns true when the reader receives the records of the batch. Must be called for every batch, in order. */
  accepts(buffer: Buffer, batch: BatchHeader): boolean {
    while (this.#next < this.#pending.length && this.#pending[this.#next].firstOffset <= batch.lastOffset) {
      this.#aborting.add(this.#pending[this.#next++].producerId)
    }
    if (isControl(batch)) {
      // After the marker, the reader receives this producer's batches again, until its next aborted transaction begins.
      if (this.#aborting.size > 0 && isAbortMarker(buffer, batch)) this.#aborting.delete(batch.producerId)
      return false
    }
    return !(isTransactional(batch) && this.#aborting.has(batch.producerId))
  }
}
