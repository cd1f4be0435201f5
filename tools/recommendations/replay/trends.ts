import { addToLog, amountOf, byGroup } from '../../../pipelines/recommendations/signals/trend-groups.ts'
import type { ItemEvent, TrendingItems } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'

/** Ranks the items of each group of users, as the stream does. */
export interface Trends {
  add(itemId: bigint, events: readonly ItemEvent[]): void
  /** Publishes the list of a group if it has changed and is due. Returns the list as it was last published. */
  listOf(group: string, now: number): TrendingItems | undefined
}

/** Interval at which the stream publishes its lists. */
const EVERY_MS = 30_000
/** Maximum number of items in a list. */
const MAX_TRENDING = 500
/** Once a day, items with a lower amount are forgotten. */
const FORGOTTEN_BELOW = 2 ** -8
const FORGET_EVERY_MS = DAY_MS

interface Group {
  readonly logs: Map<bigint, number>
  /**
   * The best items, at most twice as many as in a list. All amounts decay at the same rate, so an item that is not in
   * this map can only enter it when an event about this item arrives.
   */
  top: Map<bigint, number>
  /** Upper limit of the amounts of all items outside `top`, as a logarithm. */
  floor: number
  forgottenAt: number
  events: number
  isChanged: boolean
  published: TrendingItems | undefined
}

export function trends(): Trends {
  const groups = new Map<string, Group>()

  function put(group: Group, itemId: bigint, log: number): void {
    group.logs.set(itemId, log)
    if (log < group.floor && !group.top.has(itemId)) return
    group.top.set(itemId, log)
    if (group.top.size > 2 * MAX_TRENDING) cut(group)
  }

  function forget(group: Group, now: number): void {
    group.forgottenAt = now
    for (const [itemId, log] of group.logs) if (amountOf(log, now) < FORGOTTEN_BELOW) group.logs.delete(itemId)
    group.top = new Map(group.logs)
    group.floor = Number.NEGATIVE_INFINITY
    cut(group)
  }

  function publish(group: Group, now: number): void {
    if (now - group.forgottenAt >= FORGET_EVERY_MS) forget(group, now)
    const item_ids = bestOf(group.top).map(([itemId]) => itemId)
    group.published = { at: now, events: amountOf(group.events, now), item_ids }
    group.isChanged = false
  }

  return {
    add(itemId, events) {
      for (const [name, { at, weight, events: count }] of byGroup(itemId, events)) {
        const group = groups.get(name) ?? newGroup(at)
        groups.set(name, group)
        put(group, itemId, addToLog(group.logs.get(itemId), weight, at))
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

function newGroup(at: number): Group {
  const sums = { logs: new Map(), events: Number.NEGATIVE_INFINITY }
  return { ...sums, top: new Map(), floor: Number.NEGATIVE_INFINITY, forgottenAt: at, isChanged: false, published: undefined }
}

/** Reduces `top` to the items that fit into a list. */
function cut(group: Group): void {
  const best = bestOf(group.top)
  group.top = new Map(best)
  if (best.length === MAX_TRENDING) group.floor = best[MAX_TRENDING - 1][1]
}

function bestOf(logs: ReadonlyMap<bigint, number>): [bigint, number][] {
  return [...logs].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, MAX_TRENDING)
}
