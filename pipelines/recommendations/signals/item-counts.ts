import { isViewed } from '../../../schemas/recommendations/events/weights.ts'
import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import type { ItemActivity, ItemSignals, ItemStats } from '../../../schemas/recommendations/types.ts'
import { HOUR_MS } from '../../../schemas/retention.ts'

/** Share of an item's events and impressions that must be new before its statistics are published again. */
const PUBLISHED_SHARE = 0.02
/**
 * Time after which further events are published even if they are few. Published counts decay, the fastest with a
 * half-life of six hours. Without this limit, an old item with many events would seem to be unused, although users
 * still choose it.
 */
const PUBLISHED_EVERY_MS = HOUR_MS

const MONTH = HALF_LIFE_MS.neighbours
const WEEK = HALF_LIFE_MS.statistics
const HOURS = HALF_LIFE_MS.trending

export const NO_SIGNALS: ItemSignals = {
  at: 0,
  popularity: 0,
  entered: 0,
  recent: 0,
  shown: 0,
  chosen: 0,
  events: 0,
  views: 0,
  clicks: 0,
  purchases: 0,
  ratings: 0,
  rating_sum: 0,
  skips: 0,
  interactions: 0,
  unpublished: 0,
  total: 0,
  published_at: 0,
}

/**
 * Adds activity to the counts of an item. In the result, all decaying counts are decayed to the time of the item's
 * latest activity.
 */
export function withActivity(before: ItemSignals, { events, entered, shown }: ItemActivity): ItemSignals {
  const at = newestOf(before.at, events, entered, shown)
  const counts = decayed(before, at)
  for (const { event_type, at: eventAt, is_chosen, rating } of events) {
    const week = decay(at - eventAt, WEEK)
    counts.events += week
    counts.interactions++
    if (is_chosen) counts.chosen += week
    if (event_type === 'VIEW') counts.views += week
    else if (event_type === 'CLICK') counts.clicks += week
    else if (event_type === 'PURCHASE') counts.purchases += week
    else if (event_type === 'SKIP') counts.skips += week
    if (rating !== null) {
      counts.ratings += week
      counts.rating_sum += week * rating
    }
    if (!isViewed(event_type)) continue
    counts.popularity += decay(at - eventAt, MONTH)
    counts.recent += decay(at - eventAt, HOURS)
  }
  for (const time of entered) counts.entered += decay(at - time, MONTH)
  for (const time of shown) counts.shown += decay(at - time, WEEK)
  counts.unpublished += events.length + shown.length
  counts.total += events.length + shown.length
  return counts
}

/**
 * Returns the newest of all timestamps. Compares them in loops, because a hot item has more timestamps than a call to
 * `Math.max` may have arguments.
 */
function newestOf(before: number, events: ItemActivity['events'], entered: readonly number[], shown: readonly number[]): number {
  let newest = before
  for (const { at } of events) newest = Math.max(newest, at)
  for (const at of entered) newest = Math.max(newest, at)
  for (const at of shown) newest = Math.max(newest, at)
  return newest
}

/** Decays the counts to a later time. */
function decayed(before: ItemSignals, at: number): ItemSignals {
  const week = decay(at - before.at, WEEK)
  const month = decay(at - before.at, MONTH)
  return {
    ...before,
    at,
    popularity: before.popularity * month,
    entered: before.entered * month,
    recent: before.recent * decay(at - before.at, HOURS),
    shown: before.shown * week,
    chosen: before.chosen * week,
    events: before.events * week,
    views: before.views * week,
    clicks: before.clicks * week,
    purchases: before.purchases * week,
    ratings: before.ratings * week,
    rating_sum: before.rating_sum * week,
    skips: before.skips * week,
  }
}

export function isDue({ unpublished, total, at, published_at }: ItemSignals): boolean {
  return unpublished > PUBLISHED_SHARE * total || at - published_at >= PUBLISHED_EVERY_MS
}

/** Returns the counts of an item with all events marked as published. */
export function asPublished(signals: ItemSignals): ItemSignals {
  return { ...signals, unpublished: 0, published_at: signals.at }
}

export function statsOf(signals: ItemSignals): ItemStats {
  const { at, popularity, entered, recent, shown, chosen, events, purchases, ratings, rating_sum, interactions } = signals
  return { at, popularity, entered, recent, shown, chosen, events, purchases, ratings, rating_sum, interactions }
}
