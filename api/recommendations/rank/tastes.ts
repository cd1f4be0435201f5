import type { ItemTable } from '../items/item-table.ts'
import type { RequestUser } from '../users/request-user.ts'

/** A user's preference for each genre, by the number of the genre. */
export interface Tastes {
  /** Share of each genre among the items of the session. The shares add up to 1. */
  readonly session: ReadonlyMap<number, number>
  /** Share of each genre among the positive interactions of the user's last 100. */
  readonly history: ReadonlyMap<number, number>
  /** Weights of stated preferences. */
  readonly preferences: ReadonlyMap<number, number>
}

/**
 * Computes a user's tastes. The genres of the session are derived from its items here, so that no stream needs to join
 * items.
 */
export function tastesOf(items: ItemTable, { session, history, preferences }: RequestUser): Tastes {
  const liked = history.filter(({ weight }) => weight > 0).map(({ itemId }) => itemId)
  const stated = new Map<number, number>()
  for (const { value, weight } of preferences) {
    const genre = items.genreNumber(value)
    if (genre !== 0) stated.set(genre, weight)
  }
  return { session: sharesOf(items, session), history: sharesOf(items, liked), preferences: stated }
}

function sharesOf(items: ItemTable, itemIds: readonly bigint[]): Map<number, number> {
  const counts = new Map<number, number>()
  let total = 0
  for (const itemId of itemIds) {
    const row = items.rowOf(itemId)
    const genre = row < 0 ? 0 : items.genreAt(row)
    if (genre === 0) continue
    counts.set(genre, (counts.get(genre) ?? 0) + 1)
    total++
  }
  return new Map([...counts].map(([genre, count]) => [genre, count / total]))
}
