import type { Identity } from './transactions.ts'

interface Expected {
  epoch: number
  lowestSequence: number
  readonly adds: boolean
}

/**
 * Producers that have sent records to a log or offsets to a group, while the log or group waits for confirmation that
 * it is part of the producer's transaction. The end of the transaction also ends this wait: a confirmation from before
 * the end must not admit records after the end.
 */
export class ExpectedProducers {
  readonly #all = new Map<number, Expected>()

  /**
   * Must be called before the request to the coordinator is sent.
   * @param adds false in version 1, in which the producer itself adds the partition or group to the transaction
   */
  add({ producerId, epoch }: Identity, sequence: number, adds: boolean): void {
    const known = this.#all.get(producerId)
    if (known === undefined) this.#all.set(producerId, { epoch, lowestSequence: sequence, adds })
    else if (known.adds && epoch > known.epoch) {
      known.epoch = epoch
      known.lowestSequence = sequence
    } else known.lowestSequence = Math.min(known.lowestSequence, sequence)
  }

  find(producerId: number): Readonly<Expected> | undefined {
    return this.#all.get(producerId)
  }

  /** Must be called when the log or group has accepted records or offsets of the transaction. */
  begun(producerId: number): void {
    this.#all.delete(producerId)
  }

  /**
   * Must be called at the end of a transaction, with the producer id and epoch in the marker. In version 2, the marker
   * carries the epoch of the next transaction. If records of the next transaction are already waiting, the producer is
   * kept.
   */
  ended({ producerId, epoch }: Identity): void {
    const known = this.#all.get(producerId)
    if (known?.adds === true && known.epoch === epoch) return
    this.#all.delete(producerId)
  }
}
