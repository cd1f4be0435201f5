import type { OnFailure } from '../topology/api.ts'
import type { FailureStage } from './record-failure.ts'

/** The number of skipped records of one source that failed in the same stage and were handled in the same way. */
export interface SkippedCount {
  readonly source: string
  readonly stage: FailureStage
  readonly handling: OnFailure
  count: number
}

/**
 * The counters of one topology. They are plain numbers, which are cheap on the hot path. A request for metrics reads
 * them.
 */
export interface TaskMetrics {
  processed: number
  deadLetters: number
  /** Counts of the records that were skipped because of their source's policy. */
  readonly skipped: SkippedCount[]
  late: number
  /** Counts of dropped records, by reason. */
  readonly dropped: Map<string, number>
  /** Counters that processors increment with `ctx.count`. */
  readonly counts: Map<string, number>
}

export function taskMetrics(): TaskMetrics {
  return { processed: 0, deadLetters: 0, skipped: [], late: 0, dropped: new Map(), counts: new Map() }
}

export function countSkipped({ skipped }: TaskMetrics, { source, stage, handling }: Omit<SkippedCount, 'count'>): void {
  const known = skipped.find((each) => each.source === source && each.stage === stage && each.handling === handling)
  if (known === undefined) skipped.push({ source, stage, handling, count: 1 })
  else known.count++
}

export function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by)
}
