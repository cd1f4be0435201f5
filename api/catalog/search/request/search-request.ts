export const SORTS = ['relevance', 'price_asc', 'price_desc', 'rating', 'newest'] as const
export type Sort = (typeof SORTS)[number]

/** Values that a product must have. Values of one list are alternatives. */
export interface Filters {
  /** Decimal ids of the chosen category and of its descendants. */
  readonly categories?: readonly string[]
  /** Inclusive; in cents. */
  readonly priceMin?: number
  readonly priceMax?: number
  readonly brands: readonly string[]
  /** Minimum mean rating in stars. It is compared with the rounded mean that buyers see. */
  readonly ratingMin?: number
  /** Required values, keyed by the attribute's name in lower case. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

/** Where a page begins. */
export type Place = { readonly kind: 'page'; readonly page: number } | { readonly kind: 'cursor'; readonly cursor: string }

export interface SearchRequest {
  readonly q: string | undefined
  readonly filters: Filters
  /** The id of the chosen category itself. */
  readonly category: number | undefined
  readonly sort: Sort
  readonly place: Place
  readonly pageSize: number
  readonly explain: boolean
}
