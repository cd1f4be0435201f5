import { addToLog, amountOf, byGroup } from '../../../pipelines/recommendations/signals/trend-groups.ts'
import type { ItemEvent, TrendingItems } from '../../../schemas/recommendations/types.ts'

/** Ranks the items of each group of users, as the stream does. */
export interface Trends {
  add(itemId: bigint, events: readonly ItemEvent[]): void
  /** Returns the list of a group as it was last published. */
  listOf(group: string, now: number): TrendingItems | undefined
}

/** Interval at which the stream publishes its lists. The constant below is the maximum number of items in a list. */
const EVERY_MS = 30_000
const MAX_TRENDING = 500
/** Amount below which an item is forgotten. */
const FORGOTTEN_BELOW = 2 ** -8

interface Group {
  readonly logs: Map<bigint, number>
  events: number
  isChanged: boolean
  published: TrendingItems | undefined
}

export function trends(): Trends {
  const groups = new Map<string, Group>()

  function publish(group: Group, now: number): void {
    for (const [itemId, log] of group.logs) if (amountOf(log, now) < FORGOTTEN_BELOW) group.logs.delete(itemId)
    const best = [...group.logs].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, MAX_TRENDING)
    group.published = { at: now, events: amountOf(group.events, now), item_ids: best.map(([itemId]) => itemId) }
    group.isChanged = false
  }

  return {
    add(itemId, events) {
      for (const [name, { at, weight, events: count }] of byGroup(itemId, events)) {
        const group = groups.get(name) ?? { logs: new Map(), events: Number.NEGATIVE_INFINITY, isChanged: false, published: undefined }
        groups.set(name, group)
        group.logs.set(itemId, addToLog(group.logs.get(itemId), weight, at))
        group.events = addToLog(group.events, count, at)
        group.isChanged = true
      }
    },
    listOf(name, now) {
      const group = groups.get(name)
      if (group === undefined) return undefined
      const isDue = group.published === undefined || now - group.published.at >= EVERY_MS
      if (group.isChanged && isDue) publish(group, now)
      return group.published
    },
  }
}
