import type { ItemTable } from '../items/item-table.ts'
import { isAboutGenre, MAX_TRAITS, NO_TRAIT, type Trait, traitOf } from '../items/traits.ts'
import type { RequestUser } from '../users/request-user.ts'

/** A user's tastes. Genres are keyed by their numbers. */
export interface Tastes {
  /** Share of each genre among the items of the session. The shares add up to 1. */
  readonly session: ReadonlyMap<number, number>
  /** Share of each genre among the positive interactions within the user's last 100 interactions. */
  readonly history: ReadonlyMap<number, number>
  /** Weights of stated preferences for genres. */
  readonly genres: ReadonlyMap<number, number>
  /** Weights of stated preferences for categories and values of attributes. */
  readonly traits: ReadonlyMap<Trait, number>
}

/**
 * Computes a user's tastes. The genres of the session are looked up here, so that no stream has to join interactions
 * with items.
 */
export function tastesOf(items: ItemTable, { session, history, preferences }: RequestUser): Tastes {
  const liked = history.filter(({ weight }) => weight > 0).map(({ itemId }) => itemId)
  const genres = new Map<number, number>()
  const traits = new Map<Trait, number>()
  for (const stated of preferences) {
    // Programs other than the API may write invalid weights. A weight of NaN would turn scores into NaN.
    if (!Number.isFinite(stated.weight)) continue
    const genre = isAboutGenre(stated) ? items.genreNumber(stated.value) : 0
    if (genre !== 0) genres.set(genre, (genres.get(genre) ?? 0) + stated.weight)
    const trait = traitOf(stated.category, stated.value)
    traits.set(trait, (traits.get(trait) ?? 0) + stated.weight)
  }
  return { session: sharesOf(items, session), history: sharesOf(items, liked), genres, traits }
}

/** Returns how strongly the stated preferences favour an item, from -1 to 1. */
export function preferenceFor(items: ItemTable, { genres, traits }: Tastes, row: number): number {
  let weight = genres.get(items.genreAt(row)) ?? 0
  for (let place = 0; traits.size > 0 && place < MAX_TRAITS; place++) {
    const trait = items.traitAt(row, place)
    if (trait === NO_TRAIT) break
    weight += traits.get(trait) ?? 0
  }
  return Math.min(1, Math.max(-1, weight))
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
