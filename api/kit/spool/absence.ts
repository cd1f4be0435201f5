/**
 * Number of sends in a row that must be late or fail before Kafka counts as unavailable. A single late send may be a
 * coincidence.
 */
const LATE_IN_A_ROW = 3

/**
 * Tracks whether Kafka is unavailable, as a whole or for single partitions. Kafka counts as unavailable after three
 * late or failed sends in a row, until it answers a send. The publisher retries its requests about once a second, so no
 * other probe is needed.
 */
export class Absence {
  readonly #lanes = new Map<string, number>()
  #all = 0

  late(lane: string): void {
    this.#all++
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? 0) + 1)
  }

  answered(lane: string): void {
    this.#all = 0
    this.#lanes.delete(lane)
  }

  /**
   * Returns whether Kafka is unavailable as a whole or for the given partition.
   * @param lane a partition; if omitted, only Kafka as a whole is considered
   */
  isAway(lane?: string): boolean {
    return this.#all >= LATE_IN_A_ROW || (lane !== undefined && (this.#lanes.get(lane) ?? 0) >= LATE_IN_A_ROW)
  }
}
