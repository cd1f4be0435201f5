import type { TrendingSince } from '../../schemas/trends/types.ts'
import { MINUTE_MS } from './time.ts'

/**
 * Number of topics that are served per list. A topic is trending while it is among them:
 * docs/services/trends.md#trending-since
 */
export const SERVED_TERMS = 30
/**
 * How long a term may be absent without losing its start time. The last ranks of a list fluctuate, so terms often leave
 * and return.
 */
const GAP_MS = 10 * MINUTE_MS

export interface Trend {
  /** Epoch ms. */
  readonly since: number
  /** The best rank since then. */
  readonly peakRank: number
}

/** The terms of a topic. The first one is the leading term. */
export type TopicTerms = readonly string[]

/**
 * Records which topics are trending. A topic has the earliest start time and the best rank of its terms, apart from
 * terms that were absent for more than `GAP_MS`. The topic therefore keeps its start time when its leading term
 * changes, and when two topics merge.
 * @param served the served topics, best first
 * @returns the trend of each term of a served topic, and whether there is a change to store
 */
export function noteTrending(
  known: Pick<TrendingSince, 'terms'>,
  served: readonly TopicTerms[],
  windowEnd: number,
): { trends: Map<string, Trend>; changed: boolean } {
  const trends = new Map<string, Trend>()
  const before = new Map(known.terms.map((each) => [each.term, each]))
  let changed = false
  for (const [index, topic] of served.entries()) {
    const goingOn = topic.flatMap((term) => before.get(term) ?? []).filter(({ left_at }) => left_at === 0 || windowEnd - left_at <= GAP_MS)
    const since = Math.min(windowEnd, ...goingOn.map((entry) => entry.since))
    const peaks = goingOn.map((entry) => entry.peak_rank).filter((peak) => peak !== 0)
    const peakRank = Math.min(index + 1, ...peaks)
    for (const term of topic) {
      trends.set(term, { since, peakRank })
      const entry = before.get(term)
      changed ||= entry === undefined || entry.since !== since || entry.left_at !== 0 || entry.peak_rank !== peakRank
    }
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
