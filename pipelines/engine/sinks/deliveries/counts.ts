/** The counters of a sink that delivers. Reasons are the codes of outcomes. */
export interface DeliveryCounts {
  delivered: number
  /** Records that nobody needed any more, by reason. */
  readonly dropped: Map<string, number>
  /** Failed attempts, by reason. Each record then waits in the retry topic, or becomes a dead letter. */
  readonly failed: Map<string, number>
  /** Records that were given up, by the reason of the last failure. */
  readonly deadLettered: Map<string, number>
}

export function deliveryCounts(): DeliveryCounts {
  return { delivered: 0, dropped: new Map(), failed: new Map(), deadLettered: new Map() }
}

export function countOne(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}
