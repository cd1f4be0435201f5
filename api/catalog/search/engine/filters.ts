import type { Filters } from '../request/search-request.ts'
import type { Query } from './query.ts'

/**
 * The property whose values a facet counts. Each attribute with a filter is a separate facet, `attribute:<name>`. The
 * facet `attribute:` counts the values of all other attributes.
 */
export type Dimension = 'category' | 'price' | 'brand' | 'rating' | `attribute:${string}`

/**
 * Matches exactly the public products. The index also contains hidden products, and documents that store how far the
 * indexer has read.
 */
export const IS_PUBLIC: Query = { term: { is_public: true } }

/** Returns the filter clauses of a request, keyed by dimension. */
export function filterClauses({ categories, priceMin, priceMax, brands, ratingMin, attributes }: Filters): Map<Dimension, Query> {
  const clauses = new Map<Dimension, Query>()
  if (categories !== undefined) clauses.set('category', { terms: { category: categories } })
  if (priceMin !== undefined || priceMax !== undefined) clauses.set('price', { range: { price_cents: { gte: priceMin, lte: priceMax } } })
  if (brands.length > 0) clauses.set('brand', { terms: { brand: brands } })
  if (ratingMin !== undefined) clauses.set('rating', { range: { rating: { gte: ratingMin } } })
  for (const [name, values] of attributes) {
    clauses.set(`attribute:${name}`, { terms: { attributes: values.map((value) => `${name}:${value}`) } })
  }
  return clauses
}

/** Returns the clauses of all dimensions except `own`. */
export function otherClauses(clauses: ReadonlyMap<Dimension, Query>, own?: Dimension): Query[] {
  return [...clauses].filter(([dimension]) => dimension !== own).map(([, clause]) => clause)
}
