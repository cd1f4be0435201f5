import type { RegionHistory } from '../../schemas/trends/types.ts'
import type { RankedTerm } from './ranking.ts'
import { NO_BASELINE } from './term-state.ts'
import { MINUTE_MS } from './time.ts'

/**
 * Number of lists whose means are kept. Lists are at least half a minute apart, so one of these lists is always at
 * least a minute older than the next list.
 */
const KEPT_MOMENTS = 2
/**
 * How long a region must have had lists before its terms get labels: docs/services/trends.md#velocity-score-and-label
 */
const LABELS_AFTER_MS = 120 * MINUTE_MS

/**
 * Returns the mean count of terms without a baseline in the region's list a minute before `windowEnd`, or in the latest
 * list before that; 0 if there is none. A region's lists are made in order, so no lagging partition can change the
 * result.
 */
export function meanOfNewTerms(history: RegionHistory | undefined, windowEnd: number): number {
  return history?.moments.findLast((moment) => moment.window_end <= windowEnd - MINUTE_MS)?.mean ?? 0
}

export function mayLabel(history: RegionHistory | undefined, windowEnd: number): boolean {
  return history !== undefined && windowEnd - history.first_list >= LABELS_AFTER_MS
}

/**
 * Returns the region's history after the list that ends at `windowEnd`. Returns undefined if the list changes nothing.
 * This is the case for an empty list if the region has no history yet, or if its kept means are already 0.
 */
export function historyAfter(
  known: RegionHistory | undefined,
  ranked: readonly RankedTerm[],
  windowEnd: number,
): RegionHistory | undefined {
  const mean = meanOf(ranked)
  if (ranked.length === 0 && (known === undefined || known.moments.every((moment) => moment.mean === 0))) return undefined
  const before = (known?.moments ?? []).filter((moment) => moment.window_end < windowEnd)
  return { first_list: known?.first_list ?? windowEnd, moments: [...before, { window_end: windowEnd, mean }].slice(-KEPT_MOMENTS) }
}

function meanOf(ranked: readonly RankedTerm[]): number {
  let terms = 0
  let volume = 0
  for (const { baseline, count } of ranked) {
    if (baseline !== NO_BASELINE) continue
    terms++
    volume += count
  }
  return terms === 0 ? 0 : volume / terms
}
