/** The counters of one topology, by name. Plain numbers are cheap on the hot path; metrics are read on request. */
export interface TaskMetrics {
  processed: number
  emitted: number
  deadLetters: number
  late: number
  /** Numbers of dropped records, by reason. */
  readonly dropped: Map<string, number>
  /** Counters that processors increment with `ctx.count`. */
  readonly counts: Map<string, number>
}

export function taskMetrics(): TaskMetrics {
  return { processed: 0, emitted: 0, deadLetters: 0, late: 0, dropped: new Map(), counts: new Map() }
}

export function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by)
}
