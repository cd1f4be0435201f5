import { hash48 } from '../../../schemas/fraud/hash.ts'

/**
 * Maximum number of example ids per cell. An analyst can inspect this many examples, and a report with many cells stays
 * small.
 */
export const MAX_EXAMPLES = 5

/** Counts the transactions of one cell of a report, and keeps a few of their ids as examples. */
export class Cell {
  count = 0
  /**
   * Ids of the examples, which are the transactions with the smallest hashes. The examples come from the whole period,
   * and the same input always gives the same ids.
   */
  #kept: { readonly hash: number; readonly id: string }[] = []

  add(transactionId: string): void {
    this.count++
    const hash = hash48(transactionId)
    if (this.#kept.length === MAX_EXAMPLES && hash >= this.#kept[MAX_EXAMPLES - 1].hash) return
    this.#kept.push({ hash, id: transactionId })
    this.#kept.sort((one, other) => one.hash - other.hash)
    this.#kept.length = Math.min(this.#kept.length, MAX_EXAMPLES)
  }

  get examples(): string[] {
    return this.#kept.map(({ id }) => id)
  }
}
