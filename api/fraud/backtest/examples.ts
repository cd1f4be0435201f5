import { hash48 } from '../../../schemas/fraud/hash.ts'

/**
 * Maximum number of example ids per cell. Analysts rarely inspect more examples, and the limit keeps a report with many
 * cells small.
 */
export const MAX_EXAMPLES = 5

/** Counts the transactions in one cell of a report's table, and keeps a few of their ids as examples. */
export class Cell {
  count = 0
  /**
   * The transactions whose ids have the smallest hashes are the examples. They are spread over the whole period, and
   * the same input always gives the same examples.
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
