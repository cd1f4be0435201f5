import type { TrendingSince } from '../../schemas/trends/types.ts'
import { MINUTE_MS } from './time.ts'

/** A term is trending while it is among the served terms: docs/services/trends.md#trending-since */
export const SERVED_TERMS = 30
/** A term that returns within this time keeps its start, because the last ranks of a list fluctuate. */
const GAP_MS = 10 * MINUTE_MS

export interface Trend {
  /** Epoch ms. */
  readonly since: number
  /** The best rank since then. */
  readonly peakRank: number
}

/**
 * Records which terms are trending.
 * @param served best first
 * @returns the trend of each served term, and whether there is a change to store
 */
export function noteTrending(
  known: Pick<TrendingSince, 'terms'>,
  served: readonly string[],
  windowEnd: number,
): { trends: Map<string, Trend>; changed: boolean } {
  const trends = new Map<string, Trend>()
  const before = new Map(known.terms.map((each) => [each.term, each]))
  let changed = false
  for (const [index, term] of served.entries()) {
    const entry = before.get(term)
    const goesOn = entry !== undefined && (entry.left_at === 0 || windowEnd - entry.left_at <= GAP_MS)
    const rank = index + 1
    const peakRank = goesOn && entry.peak_rank !== 0 ? Math.min(entry.peak_rank, rank) : rank
    trends.set(term, { since: goesOn ? entry.since : windowEnd, peakRank })
    changed ||= !goesOn || entry.left_at !== 0 || entry.peak_rank !== peakRank
  }
  const terms = [...trends].map(([term, { since, peakRank }]) => ({ term, since, left_at: 0, peak_rank: peakRank }))
  for (const entry of known.terms) {
    if (trends.has(entry.term)) continue
    const left_at = entry.left_at === 0 ? windowEnd : entry.left_at
    const kept = windowEnd - left_at <= GAP_MS
    changed ||= !kept || left_at !== entry.left_at
    if (kept) terms.push({ ...entry, left_at })
  }
  known.terms = terms
  return { trends, changed }
}
