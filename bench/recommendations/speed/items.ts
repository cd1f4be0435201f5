import type { ItemStats, RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { integer, type Random } from '../../../tools/random/random.ts'
import type { World } from './world.ts'

const GENRES = 60
const AGE_DAYS = 700
const MOST_EVENTS = 2_000
const EVENT_SKEW = 5

/** Returns the record of an item. All items of a cluster have the same genre. */
export function itemOf(world: World, row: number, now: number): RecommendationItem {
  const genre = world.clusterOf(row) % GENRES
  const at = now - (1 + (row % AGE_DAYS)) * DAY_MS
  return {
    title: `An item with a title of some words, number ${row}`,
    description: '',
    category_path: `Genre ${genre}/Cluster ${world.clusterOf(row)}`,
    attributes: { genres: `Genre ${genre}`, year: String(2_000 + (row % 25)) },
    popularity: 0,
    thumbnail_url: `https://images.example/${row}.jpg`,
    status: 'ACTIVE',
    created_at: at,
    updated_at: at,
  }
}

/** Returns random statistics. Most items have few events. */
export function statsOf(random: Random, now: number): ItemStats {
  const events = Math.floor(random() ** EVENT_SKEW * MOST_EVENTS)
  return {
    at: now - integer(random, DAY_MS),
    popularity: events,
    entered: events,
    recent: events * random(),
    shown: events * 20 * random(),
    chosen: events * random(),
    events,
    purchases: events * 0.1 * random(),
    ratings: 0,
    rating_sum: 0,
    interactions: events,
  }
}
