import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import { type Neighbour, PUBLISHED_NEIGHBOURS } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type { ItemNeighbourhood, ItemSignals, NearItem } from '../../../schemas/recommendations/types.ts'
import { keptNeighbours } from './kept-neighbours.ts'

const MS_PER_SECOND = 1_000
const HALF_LIFE = HALF_LIFE_MS.neighbours

/**
 * Maximum distance from a row's reference time to its newest pair, in half-lives. Weights are stored as of the
 * reference time, so the weight of a new pair doubles with every half-life and reaches at most 2^30. After that, all
 * weights are rescaled to the time of the newest pair.
 */
const MAX_HALF_LIVES = 30
/**
 * Share of an item's total weight that must be new before its neighbours are published again. Items that change little
 * therefore cause few records.
 */
const PUBLISHED_SHARE = 0.05

/**
 * Maximum number of pairs that are added at once. After each portion, the number of neighbours is reduced to
 * `MAX_NEIGHBOURS` (kept-neighbours.ts). The time for a portion grows with the square of its size, and during a
 * backlog, a commit may contain many thousands of different neighbours of a hot item.
 */
export const MOST_AT_ONCE = 1_000

export const NO_NEIGHBOURS: ItemNeighbourhood = { reference_at: 0, neighbours: Buffer.alloc(0), total: 0, unpublished: 0 }

export function withNear(row: ItemNeighbourhood, near: readonly NearItem[]): ItemNeighbourhood {
  let after = row
  for (let start = 0; start < near.length; start += MOST_AT_ONCE) after = withPortion(after, near.slice(start, start + MOST_AT_ONCE))
  return after
}

function withPortion(row: ItemNeighbourhood, near: readonly NearItem[]): ItemNeighbourhood {
  const newest = near.reduce((time, { at }) => Math.max(time, at), row.reference_at)
  const isOutgrown = newest - row.reference_at > MAX_HALF_LIVES * HALF_LIFE
  const referenceAt = row.reference_at === 0 || isOutgrown ? newest : row.reference_at
  const fade = row.reference_at === 0 ? 1 : decay(referenceAt - row.reference_at, HALF_LIFE)
  const kept = keptNeighbours(row.neighbours, fade, near.length)
  let added = 0
  for (const { item_id, closeness, at } of near) {
    const weight = closeness * decay(referenceAt - at, HALF_LIFE)
    kept.add(item_id, weight, Math.floor(at / MS_PER_SECOND))
    added += weight
  }
  return {
    reference_at: referenceAt,
    neighbours: kept.packed(),
    total: row.total * fade + added,
    unpublished: row.unpublished * fade + added,
  }
}

export function isDue({ total, unpublished }: ItemNeighbourhood): boolean {
  return unpublished > PUBLISHED_SHARE * total
}

/**
 * Returns the time to which published weights are decayed. Pairs may arrive late. The weights must never be those of an
 * earlier time than the item's counts, because readers divide by these counts.
 * @param near the pairs that arrived last
 * @param signals the item's counts; undefined if it has none
 */
export function publishedAt(near: readonly NearItem[], signals: Pick<ItemSignals, 'at'> | undefined): number {
  return near.reduce((newest, { at }) => Math.max(newest, at), signals?.at ?? 0)
}

/** Returns the neighbours to publish, with their weights decayed to the time `at`. */
export function publishedOf({ reference_at, neighbours }: ItemNeighbourhood, at: number): Neighbour[] {
  return keptNeighbours(neighbours, decay(at - reference_at, HALF_LIFE), 0)
    .list()
    .sort((a, b) => b.weight - a.weight || (a.itemId < b.itemId ? -1 : 1))
    .slice(0, PUBLISHED_NEIGHBOURS)
}
