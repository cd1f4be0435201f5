/** The counters of a sink that delivers records. A reason is the code of a delivery outcome. */
export interface DeliveryCounts {
  delivered: number
  /**
   * Number of records that were dropped, by reason: records that were no longer needed and, if the sink stores no dead
   * letters, records that it gave up on.
   */
  readonly dropped: Map<string, number>
  /**
   * Number of failed attempts, by reason. After a failure, the record waits in the retry topic, becomes a dead letter
   * or, if the sink stores no dead letters, is dropped.
   */
  readonly failed: Map<string, number>
  /** Number of records that became dead letters after a failed attempt, by the reason of the last failure. */
  readonly deadLettered: Map<string, number>
}

export function deliveryCounts(): DeliveryCounts {
  return { delivered: 0, dropped: new Map(), failed: new Map(), deadLettered: new Map() }
}

export function countOne(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}
