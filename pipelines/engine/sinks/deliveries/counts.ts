/** The counters of a sink that delivers records. A reason is the code of a delivery outcome. */
export interface DeliveryCounts {
  delivered: number
  /** Number of records that were dropped because they were no longer needed, by reason. */
  readonly dropped: Map<string, number>
  /**
   * Number of failed attempts, by reason. After a failure the record waits in the retry topic or becomes a dead letter.
   */
  readonly failed: Map<string, number>
  /**
   * Number of records that the sink gave up after a failed attempt, by the reason of the last failure. They are dead
   * letters, unless the sink stores none.
   */
  readonly deadLettered: Map<string, number>
}

export function deliveryCounts(): DeliveryCounts {
  return { delivered: 0, dropped: new Map(), failed: new Map(), deadLettered: new Map() }
}

export function countOne(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}
