import type { TrendingSince } from '../../schemas/trends/types.ts'
import { MINUTE_MS } from './time.ts'

/** A term is trending while it is among the served terms: docs/services/trends.md#trending-since */
export const SERVED_TERMS = 30
/** A term that returns within this time keeps its start, because the last ranks of a list fluctuate. */
const GAP_MS = 10 * MINUTE_MS

/**
 * Records which terms are trending.
 * @returns the start of each trend, and whether there is a change to store
 */
export function noteTrending(
  known: TrendingSince,
  served: readonly string[],
  windowEnd: number,
): { since: Map<string, number>; changed: boolean } {
  const since = new Map<string, number>()
  const before = new Map(known.terms.map((each) => [each.term, each]))
  let changed = false
  for (const term of served) {
    const entry = before.get(term)
    const goesOn = entry !== undefined && (entry.left_at === 0 || windowEnd - entry.left_at <= GAP_MS)
    since.set(term, goesOn ? entry.since : windowEnd)
    changed ||= !goesOn || entry.left_at !== 0
  }
  const terms = [...since].map(([term, at]) => ({ term, since: at, left_at: 0 }))
  for (const entry of known.terms) {
    if (since.has(entry.term)) continue
    const left_at = entry.left_at === 0 ? windowEnd : entry.left_at
    const kept = windowEnd - left_at <= GAP_MS
    changed ||= !kept || left_at !== entry.left_at
    if (kept) terms.push({ ...entry, left_at })
  }
  known.terms = terms
  return { since, changed }
}
