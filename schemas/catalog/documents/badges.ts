import type { CatalogDocument } from '../types.ts'

const NEW_MS = 30 * 24 * 3_600_000
const TOP_RATED_MEAN = 4.5
const TOP_RATED_COUNT = 20

type Judged = Pick<CatalogDocument, 'was_cents' | 'in_stock' | 'rating_sum' | 'rating_count'>

/** Returns the badges that do not depend on the time, in the order in which they are shown. */
export function storedBadges({ was_cents, in_stock, rating_sum, rating_count }: Judged, isBestseller: boolean): string[] {
  const badges: string[] = []
  if (isBestseller) badges.push('bestseller')
  if (rating_count >= TOP_RATED_COUNT && rating_sum >= TOP_RATED_MEAN * rating_count) badges.push('top_rated')
  if (was_cents !== null) badges.push('sale')
  if (in_stock === 'low_stock') badges.push('low_stock')
  return badges
}

/**
 * Adds the badge `new`, the only one that depends on the time, if the product is less than 30 days old.
 * @param createdAt when the product was created; epoch ms, like `now`
 */
export function badgesAt(stored: readonly string[], createdAt: number, now: number): readonly string[] {
  return now - createdAt < NEW_MS ? ['new', ...stored] : stored
}
