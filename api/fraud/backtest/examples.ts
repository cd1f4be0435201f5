import { hash48 } from '../../../schemas/fraud/hash.ts'

/** Enough for an analyst to open some, and few enough for a report with many cells. */
export const MAX_EXAMPLES = 5

/** Transactions that look the same in a report, counted, with the ids of a few of them. */
export class Cell {
  count = 0
  /** Those with the smallest hashes, so that they come from the whole period and repeat with the same input. */
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
