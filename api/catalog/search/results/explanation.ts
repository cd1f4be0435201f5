import {
  type Factor,
  type Factors,
  RECENCY_MS,
  ratingFactorOf,
  salesFactorOf,
  sellerFactorOf,
  stockFactorOf,
  textFactorOf,
  WEIGHTS,
} from '../../../../state/indexes/catalog/relevance.ts'
import type { ShownSource } from '../engine/hits.ts'
import type { RelevanceMoment } from '../engine/relevance-script.ts'
import type { Hit } from '../searcher.ts'

/** Computes the factors of relevance with the documented formulas, independently of the search server's expression. */
export function factorsOf(source: ShownSource, textScore: number, { now, salesPercentile }: RelevanceMoment): Factors {
  return {
    text: textFactorOf(textScore),
    sales: salesFactorOf(source.sales_log ?? null, salesPercentile, now),
    rating: ratingFactorOf(source),
    seller: sellerFactorOf(source.seller_rating),
    recency: Math.min(1, Math.exp(-(now - source.created_at) / RECENCY_MS)),
    stock: stockFactorOf(source.in_stock),
  }
}

export function relevanceOf(factors: Factors): number {
  return (Object.keys(WEIGHTS) as Factor[]).reduce((sum, factor) => sum + WEIGHTS[factor] * factors[factor], 0)
}

export function explanationOf({ source, textScore = 0 }: Hit, moment: RelevanceMoment) {
  const factors = factorsOf(source, textScore, moment)
  return {
    relevance: relevanceOf(factors),
    text_score: textScore,
    factors: Object.fromEntries(
      (Object.keys(WEIGHTS) as Factor[]).map((factor) => [factor, { value: factors[factor], weight: WEIGHTS[factor] }]),
    ),
  }
}
