import { meanWithPrior, PRIOR_MEAN, ratingFactor } from '../../../schemas/catalog/documents/rating.ts'
import { salesAt } from '../../../schemas/catalog/documents/sales.ts'
import type { CatalogDocument, CatalogStockStatus } from '../../../schemas/catalog/types.ts'

/** Weight of each factor of relevance. Every factor is between 0 and 1, and the weights add up to 1. */
export const WEIGHTS = { text: 0.3, sales: 0.25, rating: 0.2, seller: 0.1, recency: 0.05, stock: 0.1 } as const

export type Factor = keyof typeof WEIGHTS
export type Factors = Readonly<Record<Factor, number>>

const DAY_MS = 24 * 3_600_000
/** Age at which the recency of a product is 1/e. The recency of a new product is 1. */
export const RECENCY_MS = 90 * DAY_MS
/**
 * Reference time of the recency values in the index. These values are relative to a fixed time, so products age without
 * a change to the index.
 */
const RECENCY_EPOCH = Date.UTC(2026, 0, 1)
const STOCK_FACTORS: Readonly<Record<CatalogStockStatus, number>> = { in_stock: 1, low_stock: 0.5, out_of_stock: 0 }

/**
 * Text score at which the text factor is one half. Of eleven tested values, this one scored best on the judgments,
 * although the scores for values from 8 to 20 hardly differ (`npm run bench:search-quality -- --constants`).
 */
export const TEXT_HALF = 14

type Rated = Pick<CatalogDocument, 'rating_sum' | 'rating_count' | 'seller_rating' | 'in_stock'>

export function ratingFactorOf({ rating_sum, rating_count }: Pick<Rated, 'rating_sum' | 'rating_count'>): number {
  return ratingFactor(meanWithPrior(rating_sum, rating_count))
}

export function sellerFactorOf(sellerRating: number | null): number {
  return ratingFactor(sellerRating ?? PRIOR_MEAN)
}

export function stockFactorOf(status: CatalogStockStatus): number {
  return STOCK_FACTORS[status]
}

/** Returns the weighted sum of the factors that depend only on the document. */
export function qualityOf(document: Rated): number {
  return (
    WEIGHTS.rating * ratingFactorOf(document) +
    WEIGHTS.seller * sellerFactorOf(document.seller_rating) +
    WEIGHTS.stock * stockFactorOf(document.in_stock)
  )
}

/**
 * Returns an upper bound on the relevance without text and recency: `qualityOf`, plus the weight of sales if the
 * product was ever sold. The bound changes neither with time nor with the sales of other products.
 */
export function ceilingOf(document: Rated & Pick<CatalogDocument, 'sales_log'>): number {
  return qualityOf(document) + (document.sales_log === null ? 0 : WEIGHTS.sales)
}

/** Returns e^((created_at - RECENCY_EPOCH) / 90 days). To get the recency, multiply it by `recencyScale`. */
export function storedRecency(createdAt: number): number {
  return Math.exp((createdAt - RECENCY_EPOCH) / RECENCY_MS)
}

export function recencyScale(now: number): number {
  return Math.exp((RECENCY_EPOCH - now) / RECENCY_MS)
}

/**
 * Returns log2(1 + u), divided by the same value for the 99th percentile of products; at most 1. Here, u is the decayed
 * number of units sold. Returns 0 if the percentile is unknown.
 */
export function salesFactorOf(salesLog: number | null, percentileLog: number | null, now: number): number {
  const most = Math.log2(1 + salesAt(percentileLog, now))
  return most > 0 ? Math.min(1, Math.log2(1 + salesAt(salesLog, now)) / most) : 0
}

export function textFactorOf(score: number): number {
  return score / (score + TEXT_HALF)
}
