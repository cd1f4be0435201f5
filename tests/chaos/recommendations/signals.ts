import type { ItemActivity, ItemStats } from '../../../schemas/recommendations/types.ts'
import { weighedItems } from './bytes.ts'
import type { Evidence, Logged } from './evidence.ts'
import { expectedActivities, half, joined } from './signals-fold.ts'

const DAY = 86_400_000
const MONTH = 30 * DAY
const WEEK = 7 * DAY
const HOURS = 6 * 3_600_000
/** Share of an item's interactions and impressions that its published statistics may lack. */
const STATS_BEHIND = 0.02
/** Share of the weight of an item's neighbours that its published neighbours may lack. */
const NEIGHBOURS_BEHIND = 0.05
const PUBLISHED_NEIGHBOURS = 50
const TOLERANCE = 1e-9
/** Tolerance for weights, which are published as four-byte floats. */
const FLOAT_TOLERANCE = 1e-6

/** Checks that the signals of items follow from the log, and that neighbours and statistics follow from the signals. */
export function signals(evidence: Evidence): string[] {
  const { items, logs } = evidence
  const expected = expectedActivities(evidence)
  const records = Map.groupBy(logs.itemEvents, ({ key }) => String(key))
  return items.flatMap((item) => {
    const own = records.get(item) ?? []
    return [...activities(item, expected.get(item), own), ...stats(item, own, evidence), ...neighbours(item, own, evidence)]
  })
}

function activities(item: string, expected: ReturnType<typeof joined> = joined([]), records: readonly Logged<ItemActivity>[]): string[] {
  const is = joined(records)
  const wrong = [
    ...firstDifference(`events of item ${item}`, expected.events.map(withoutChoice), is.events.map(withoutChoice)),
    ...choices(item, expected.events, is.events),
    ...firstDifference(`near of item ${item}`, expected.near, is.near),
    ...firstDifference(`entered of item ${item}`, expected.entered, is.entered),
  ]
  // Served lists are in a separate topic, which the pipeline may have read in a different order. Their times are
  // therefore sorted before they are compared.
  return [...wrong, ...firstDifference(`times shown of item ${item}`, expected.shown.toSorted(), is.shown.toSorted())]
}

/** Whether the pipeline counted an event as a choice, and whether it was allowed to. */
interface Choice {
  readonly is_chosen?: boolean
  readonly mayBeChosen?: boolean
}

function withoutChoice(event: unknown): unknown {
  const { is_chosen: _is, mayBeChosen: _may, ...rest } = event as Choice
  return rest
}

/**
 * Checks that only events from the user's own lists count as choices. Even such an event need not count: the pipeline
 * may have read it before its list, or may no longer keep the item among the items that were shown and not chosen.
 */
function choices(item: string, expected: readonly unknown[], is: readonly unknown[]): string[] {
  const wrong = is.findIndex((event, at) => (event as Choice).is_chosen === true && !(expected[at] as Choice | undefined)?.mayBeChosen)
  return wrong < 0 ? [] : [`event ${wrong} of item ${item} counts as a choice, but its user cannot have chosen the item from a list`]
}

function firstDifference(what: string, expected: readonly unknown[], is: readonly unknown[]): string[] {
  for (let at = 0; at < Math.max(expected.length, is.length); at++) {
    const [one, other] = [canonical(expected[at]), canonical(is[at])]
    if (one !== other) return [`${what}: entry ${at} of ${is.length} is ${other} instead of ${one} (${expected.length} expected)`]
  }
  return []
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
}

/**
 * Checks that the published statistics are those that the item had after one of its records, and that the changes by
 * later records are too small to require another publication.
 */
function stats(item: string, records: readonly Logged<ItemActivity>[], { logs }: Evidence): string[] {
  const published = logs.itemStats.findLast(({ key }) => String(key) === item)?.value ?? undefined
  const isCounted = ({ value }: Logged<ItemActivity>) => value!.events.length + value!.shown.length + value!.entered.length > 0
  const counted = records.filter(isCounted)
  if (counted.length === 0) return published === undefined ? [] : [`item ${item} has statistics, although nothing happened to it`]
  if (published === undefined) return [`item ${item} has no statistics`]
  const amount = (some: readonly Logged<ItemActivity>[]) =>
    some.reduce((sum, { value }) => sum + value!.events.length + value!.shown.length, 0)
  for (let length = counted.length; length > 0; length--) {
    if (!isSame(statsOf(counted.slice(0, length), published.at), published)) continue
    const missing = amount(counted.slice(length))
    const isDue = missing > STATS_BEHIND * amount(counted)
    return isDue ? [`the statistics of item ${item} lack ${missing} of ${amount(counted)} interactions and impressions`] : []
  }
  return [`the statistics of item ${item} are ${JSON.stringify(published)} instead of ${JSON.stringify(statsOf(counted, published.at))}`]
}

function statsOf(records: readonly Logged<ItemActivity>[], at: number): ItemStats {
  const parts = records.map(({ value }) => value!)
  const events = parts.flatMap((part) => part.events)
  const sum = (times: readonly number[], halfLife: number) => times.reduce((total, time) => total + half(at - time, halfLife), 0)
  const timesOf = (some: typeof events) => some.map((event) => event.at)
  const yes = timesOf(events.filter(({ event_type }) => event_type !== 'SKIP'))
  const rated = events.filter(({ rating }) => rating !== null)
  return {
    at: Math.max(...timesOf(events), ...parts.flatMap(({ entered, shown }) => [...entered, ...shown])),
    popularity: sum(yes, MONTH),
    entered: sum(
      parts.flatMap(({ entered }) => entered),
      MONTH,
    ),
    recent: sum(yes, HOURS),
    shown: sum(
      parts.flatMap(({ shown }) => shown),
      WEEK,
    ),
    chosen: sum(timesOf(events.filter(({ is_chosen }) => is_chosen)), WEEK),
    events: sum(timesOf(events), WEEK),
    purchases: sum(timesOf(events.filter(({ event_type }) => event_type === 'PURCHASE')), WEEK),
    ratings: sum(timesOf(rated), WEEK),
    rating_sum: rated.reduce((total, event) => total + event.rating! * half(at - event.at, WEEK), 0),
    interactions: events.length,
  }
}

function isSame(one: ItemStats, other: ItemStats): boolean {
  return (Object.keys(one) as (keyof ItemStats)[]).every((name) => isNear(one[name], other[name], TOLERANCE))
}

function isNear(one: number, other: number, tolerance: number): boolean {
  return Math.abs(one - other) <= tolerance * Math.max(1, Math.abs(one), Math.abs(other))
}

/**
 * Checks the published neighbours in the same way as the statistics, and that Redis contains them. A round has fewer
 * items than the number of neighbours kept per item, so no neighbour is ever dropped.
 */
function neighbours(item: string, records: readonly Logged<ItemActivity>[], { logs, views }: Evidence): string[] {
  const published = logs.itemNeighbours.findLast(({ key }) => String(key) === item)?.value ?? undefined
  const shown = views.neighbours.get(item)
  const met = records.filter(({ value }) => value!.near.length > 0)
  if (met.length === 0) return published === undefined ? [] : [`item ${item} has neighbours, although none of its records names one`]
  if (published === undefined) return [`item ${item} has no neighbours`]
  const stale = Buffer.from(published.neighbours).equals(shown ?? Buffer.alloc(0)) ? [] : [`Redis has other neighbours for item ${item}`]
  const is = weighedItems(published.neighbours)
  for (let length = met.length; length > 0; length--) {
    if (!isNeighbourhood(weightsOf(met.slice(0, length), published.at), is)) continue
    const all = sumOf(weightsOf(met, published.at))
    const missing = all - sumOf(weightsOf(met.slice(0, length), published.at))
    const isDue = missing > NEIGHBOURS_BEHIND * all * (1 + FLOAT_TOLERANCE)
    return [...stale, ...(isDue ? [`the neighbours of item ${item} lack ${missing} of a weight of ${all}`] : [])]
  }
  const expected = [...weightsOf(met, published.at)].sort(([, a], [, b]) => b - a)
  return [...stale, `the neighbours of item ${item} are ${JSON.stringify(is)} instead of ${JSON.stringify(expected)}`]
}

function weightsOf(records: readonly Logged<ItemActivity>[], at: number): Map<string, number> {
  const weights = new Map<string, number>()
  for (const { value } of records)
    for (const pair of value!.near) {
      const other = String(pair.item_id)
      weights.set(other, (weights.get(other) ?? 0) + pair.closeness * half(at - pair.at, MONTH))
    }
  return weights
}

function sumOf(weights: ReadonlyMap<string, number>): number {
  return [...weights.values()].reduce((sum, weight) => sum + weight, 0)
}

/**
 * Returns whether a list contains exactly the neighbours with the highest weights, in descending order of weight.
 * Neighbours of equal weight may be in any order.
 */
function isNeighbourhood(weights: ReadonlyMap<string, number>, is: readonly { readonly item: string; readonly weight: number }[]): boolean {
  const best = [...weights.values()].sort((a, b) => b - a).slice(0, PUBLISHED_NEIGHBOURS)
  return (
    is.length === best.length &&
    is.every(
      ({ item, weight }, place) => isNear(weight, best[place], FLOAT_TOLERANCE) && isNear(weight, weights.get(item) ?? 0, FLOAT_TOLERANCE),
    )
  )
}
