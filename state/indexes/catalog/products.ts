import { MOST_CATEGORIES } from '../../../schemas/catalog/documents/limits.ts'
import { meanWithPrior } from '../../../schemas/catalog/documents/rating.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { priceBandOf } from './bands.ts'
import { ceilingOf, qualityOf, storedRecency } from './relevance.ts'
import { headOf, wordsOf } from './words.ts'

/**
 * Name of the alias that searches use. The index is filled from `catalog-documents`, and a document's id is its
 * product_id.
 */
export const PRODUCTS_INDEX = 'catalog-products'

/** Number of products that can be reached by page number. Later products can be reached only through cursors. */
export const MOST_PAGED = 10_000

/**
 * Settings of the index. `wordsOf` splits the text before it reaches the index, so the analyzers only split at spaces,
 * stem words and join neighbouring words. The low `k1` makes the number of occurrences of a word in a title almost
 * irrelevant, and the low `b` gives little weight to the length of a title. These values of `k1` and `b` scored best on
 * the judgments of `npm run bench:search-quality`.
 */
export const productsSettings = {
  number_of_shards: 1,
  number_of_replicas: 0,
  // Searches find a change within a second.
  refresh_interval: '1s',
  // A search requests one product more than fits on its page, to find out whether there is a next page.
  max_result_window: MOST_PAGED + 1,
  // A filter by a category lists the category and all of its subcategories.
  max_terms_count: MOST_CATEGORIES,
  // A sink's position and the documents before it may be in different shards. Each shard therefore writes a change to
  // its disk before it acknowledges the change. Otherwise, a crash could lose documents, but keep the position after
  // them.
  translog: { durability: 'request' },
  analysis: {
    filter: {
      pairs: { type: 'shingle', min_shingle_size: 2, max_shingle_size: 2, output_unigrams: false, token_separator: '' },
    },
    analyzer: {
      exact: { type: 'custom', tokenizer: 'whitespace', filter: [] },
      stems: { type: 'custom', tokenizer: 'whitespace', filter: ['porter_stem'] },
      // Joins two neighbouring words, so that "deck over" and "deckover" match each other.
      stem_pairs: { type: 'custom', tokenizer: 'whitespace', filter: ['porter_stem', 'pairs'] },
    },
  },
  similarity: {
    words: { type: 'BM25', k1: 0.3, b: 0.3 },
    presence: { type: 'BM25', k1: 0.5, b: 0 },
  },
} as const

const SHOWN_ONLY = { type: 'keyword', index: false, doc_values: false } as const
/**
 * Every search counts facets, and counting requires global ordinals. The ordinals are built when the index is
 * refreshed, so that the next search does not have to wait for them.
 */
const FACET = { type: 'keyword', eager_global_ordinals: true } as const

export const productsMappings = {
  // These fields are indexed, but not stored: search results do not contain them, and a rebuild reads everything from
  // the topic.
  _source: { excludes: ['words', 'head', 'more', 'description'] },
  properties: {
    product_id: { type: 'long' },
    is_public: { type: 'boolean' },
    words: {
      type: 'text',
      analyzer: 'stems',
      similarity: 'words',
      fields: {
        exact: { type: 'text', analyzer: 'exact', similarity: 'words' },
        pairs: { type: 'text', analyzer: 'stem_pairs', similarity: 'presence', index_options: 'docs', norms: false },
      },
    },
    head: { type: 'text', analyzer: 'stems', similarity: 'presence', index_options: 'docs', norms: false },
    more: { type: 'text', analyzer: 'stems', similarity: 'presence', index_options: 'docs', norms: false },
    description: { type: 'text', analyzer: 'stems', similarity: 'presence', index_options: 'docs', norms: false },
    title: SHOWN_ONLY,
    brand: FACET,
    category: FACET,
    attributes: FACET,
    price_band: FACET,
    rating_band: FACET,
    price_cents: { type: 'long' },
    was_cents: { type: 'long', index: false, doc_values: false },
    rating: { type: 'double' },
    rating_mean: { type: 'double', index: false },
    rating_sum: { type: 'long', index: false, doc_values: false },
    rating_count: { type: 'long', index: false, doc_values: false },
    seller_id: SHOWN_ONLY,
    seller_rating: { type: 'double', index: false, doc_values: false },
    in_stock: SHOWN_ONLY,
    thumbnail: SHOWN_ONLY,
    badges: SHOWN_ONLY,
    created_at: { type: 'long', index: false },
    quality: { type: 'double', index: false },
    ceiling: { type: 'double' },
    recency: { type: 'double', index: false },
    sales_log: { type: 'double', index: false },
  },
} as const

/** A public product as the index stores it. */
export interface ProductSource
  extends Pick<
    CatalogDocument,
    | 'product_id'
    | 'title'
    | 'brand'
    | 'attributes'
    | 'price_cents'
    | 'was_cents'
    | 'rating_sum'
    | 'rating_count'
    | 'seller_rating'
    | 'in_stock'
    | 'thumbnail'
    | 'badges'
    | 'created_at'
  > {
  readonly is_public: true
  readonly category: string
  /** The seller's id in decimal. */
  readonly seller_id: string
  readonly price_band: string
  /** Mean number of stars as shown, with one decimal; 0 if there are no reviews. */
  readonly rating: number
  /**
   * Mean number of stars, computed as if every product had a fixed number of additional reviews with a medium rating
   * (see `meanWithPrior`). Searches that sort by rating use this mean.
   */
  readonly rating_mean: number
  /** `rating`, rounded down to whole stars. */
  readonly rating_band: string
  readonly quality: number
  readonly ceiling: number
  readonly recency: number
  /** Left out if nothing was sold. */
  readonly sales_log?: number
  readonly words: string
  readonly head: string
  readonly more: string
  readonly description: string
}

/**
 * The document of a product that is not public. Searches never find it. Its version prevents an older write from
 * restoring the product.
 */
export interface HiddenSource {
  readonly product_id: number
  readonly is_public: false
}

export function productSourceOf(document: CatalogDocument): ProductSource | HiddenSource {
  const { product_id, title, brand, attributes, rating_sum, rating_count, sales_log } = document
  if (!document.is_public) return { product_id, is_public: false }
  const rating = shownRating(rating_sum, rating_count)
  return {
    product_id,
    is_public: true,
    title,
    brand,
    attributes,
    category: String(document.category_id),
    price_cents: document.price_cents,
    price_band: priceBandOf(document.price_cents),
    was_cents: document.was_cents,
    rating,
    rating_mean: meanWithPrior(rating_sum, rating_count),
    rating_band: String(Math.floor(rating)),
    rating_sum,
    rating_count,
    seller_id: String(document.seller_id),
    seller_rating: document.seller_rating,
    in_stock: document.in_stock,
    thumbnail: document.thumbnail,
    badges: document.badges,
    created_at: document.created_at,
    quality: qualityOf(document),
    ceiling: ceilingOf(document),
    recency: storedRecency(document.created_at),
    ...(sales_log !== null && { sales_log }),
    words: titleWords(brand, title).join(' '),
    head: headOf(title)
      .map(({ text }) => text)
      .join(' '),
    more: textsOf(attributes.map((attribute) => attribute.slice(attribute.indexOf(':') + 1)).join(' | ')).join(' '),
    description: textsOf(document.description).join(' '),
  }
}

const DECIMALS = 10

function shownRating(sum: number, count: number): number {
  return count === 0 ? 0 : Math.round((sum / count) * DECIMALS) / DECIMALS
}

/**
 * Returns the words of the brand, followed by the words of the title. Leaves out the brand if the title already
 * contains all of its words, so that they are not counted twice.
 */
function titleWords(brand: string | null, title: string): string[] {
  const words = textsOf(title)
  const known = new Set(words)
  const own = brand === null ? [] : textsOf(brand)
  return own.every((word) => known.has(word)) ? words : [...own, ...words]
}

function textsOf(text: string): string[] {
  return wordsOf(text).map(({ text }) => text)
}
