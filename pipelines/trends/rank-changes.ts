import type { TrendingSince } from '../../schemas/trends/types.ts'
import { MINUTE_MS } from './time.ts'
import type { TopicTerms } from './trending-since.ts'

/**
 * Length of the periods whose first lists are remembered. Ranks are compared with the first list of the previous
 * period, which is 10 to 20 minutes old. Ranks hardly change within half a minute, so remembering every list would not
 * be worth the memory.
 */
const PERIOD_MS = 10 * MINUTE_MS

type EarlierLists = TrendingSince['earlier']

/**
 * Returns the lists that the region must remember after the list that ends at `windowEnd`. Returns the same array if
 * nothing has changed.
 * @param served the leading terms of the served topics, best first
 */
export function earlierAfter(earlier: EarlierLists, served: readonly string[], windowEnd: number): EarlierLists {
  const period = periodOf(windowEnd)
  const isFirst = served.length > 0 && earlier.every((list) => list.period < period)
  const isKept = (list: EarlierLists[number]) => list.period >= period - 1
  if (!isFirst && earlier.every(isKept)) return earlier
  const kept = earlier.filter(isKept)
  return isFirst ? [...kept, { period, terms: [...served] }] : kept
}

/**
 * Returns how many ranks each topic has gained since the first list of the previous period. The key of a topic is its
 * first term. A topic is absent if that list contained none of its terms. If that list contained several terms of a
 * topic, the best of their ranks is used.
 */
export function rankChanges(earlier: EarlierLists, served: readonly TopicTerms[], windowEnd: number): Map<string, number> {
  const before = earlier.find((list) => list.period === periodOf(windowEnd) - 1)
  const changes = new Map<string, number>()
  if (before === undefined) return changes
  const rankBefore = new Map(before.terms.map((term, index) => [term, index + 1]))
  for (const [index, topic] of served.entries()) {
    const ranks = topic.flatMap((term) => rankBefore.get(term) ?? [])
    if (ranks.length > 0) changes.set(topic[0], Math.min(...ranks) - (index + 1))
  }
  return changes
}

function periodOf(windowEnd: number): number {
  return Math.floor(windowEnd / PERIOD_MS)
}
