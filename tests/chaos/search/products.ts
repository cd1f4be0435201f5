import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { integer, type Random } from '../../../tools/random/random.ts'

/** Number of products that are public and never change. Every complete search result contains all of them. */
export const ANCHORS = 40
/** Number of products that are created and deleted before the first search. No search may find any of them. */
const GHOSTS = 40
/** Number of products that change all the time. */
const MOVERS = 120
const HIDDEN_OF_TEN = 3

export const isAnchor = (id: number) => id < ANCHORS
export const isGhost = (id: number) => id >= ANCHORS && id < ANCHORS + GHOSTS

function productDocument(id: number, revision: number, isPublic: boolean): CatalogDocument {
  return {
    product_id: id,
    is_public: isPublic,
    revision,
    seller_id: 7n,
    category_id: 1,
    title: isPublic ? `product ${id} revision ${revision}` : '',
    description: '',
    brand: null,
    attributes: [],
    price_cents: isPublic ? 100 + revision : 0,
    was_cents: null,
    created_at: 1_700_000_000_000,
    thumbnail: null,
    rating_sum: 0,
    rating_count: 0,
    stars: [],
    in_stock: 'in_stock',
    sales_log: null,
    seller_rating: null,
    badges: [],
  }
}

/** Returns the first records: all anchors, and all ghosts with their deletions. */
export function firstDocuments(): CatalogDocument[] {
  const anchors = Array.from({ length: ANCHORS }, (_, id) => productDocument(id, 1, true))
  const ghosts = Array.from({ length: GHOSTS }, (_, i) => ANCHORS + i)
  return [...anchors, ...ghosts.map((id) => productDocument(id, 1, true)), ...ghosts.map((id) => productDocument(id, 2, false))]
}

export function drawChange(random: Random, revision: number): CatalogDocument {
  const id = ANCHORS + GHOSTS + integer(random, MOVERS)
  return productDocument(id, revision, integer(random, 10) >= HIDDEN_OF_TEN)
}
