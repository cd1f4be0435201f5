import type { Evidence } from './evidence.ts'
import { half } from './signals-fold.ts'

const HALF_LIFE = 6 * 3_600_000
const MOST = 500
const TOLERANCE = 1e-9
/**
 * The service forgets an item of a group when its weight falls below 2^-8, and later events of the item start at 0.
 * Published lists may therefore be in the order of weights that lack such an amount.
 */
const FORGOTTEN = 2 ** -8

/**
 * Checks that the trending items and the event counts of each group follow from the events of all rounds. Does nothing
 * if `judgesTrending` is false.
 */
export function trending({ logs, judgesTrending }: Evidence): string[] {
  if (!judgesTrending) return []
  const weights = new Map<string, Map<string, number>>()
  const counts = new Map<string, number>()
  const now = Math.max(0, ...[...logs.trending.values()].map(({ at }) => at))
  for (const { key, value } of logs.allItemEvents)
    for (const { at, weight, country, age_bucket } of value!.events) {
      if (weight <= 0) continue
      const groups = ['all', ...(country === null ? [] : [`country:${country}`]), ...(age_bucket === null ? [] : [`age:${age_bucket}`])]
      for (const group of groups) {
        const own = weights.get(group) ?? new Map<string, number>()
        weights.set(group, own.set(String(key), (own.get(String(key)) ?? 0) + weight * half(now - at, HALF_LIFE)))
        counts.set(group, (counts.get(group) ?? 0) + half(now - at, HALF_LIFE))
      }
    }
  return [...weights].flatMap(([group, own]) => {
    const published = logs.trending.get(group)
    if (published === undefined) return [`group ${group} has no trending items`]
    const best = [...own.values()].sort((a, b) => b - a).slice(0, MOST)
    const is = published.item_ids.map(String)
    const isNear = (one: number, other: number, forgotten = 0) => Math.abs(one - other) <= TOLERANCE * Math.max(one, other) + forgotten
    const isRanked = is.length === best.length && is.every((item, place) => isNear(own.get(item) ?? 0, best[place], FORGOTTEN))
    const events = counts.get(group)! * half(published.at - now, HALF_LIFE)
    return [
      ...(isRanked ? [] : [`the trending items of ${group} are not ranked by their weights: ${is.join()}`]),
      ...(isNear(published.events, events) ? [] : [`group ${group} has ${published.events} events instead of ${events}`]),
    ]
  })
}
