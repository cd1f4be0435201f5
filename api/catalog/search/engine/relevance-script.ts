import { SALES_HALF_LIFE_MS, salesAt } from '../../../../schemas/catalog/documents/sales.ts'
import { recencyScale, TEXT_HALF, WEIGHTS } from '../../../../state/indexes/catalog/relevance.ts'
import type { Query } from './query.ts'

/**
 * Values on which relevance depends, apart from the product and the query. A cursor contains these values, so that the
 * next page uses them as well.
 */
export interface RelevanceMoment {
  /** Epoch ms, rounded down to a full minute. */
  readonly now: number
  /** The 99th percentile of `sales_log` among products with sales; null if nothing was sold. */
  readonly salesPercentile: number | null
}

/**
 * The weighted sum of the factors of state/indexes/catalog/relevance.ts as a Lucene expression. `quality` already
 * includes rating, seller and stock. For products without sales, the expression skips the logarithm, because that is
 * its costliest part.
 */
const SOURCE = [
  `${WEIGHTS.text} * (_score / (_score + ${TEXT_HALF}))`,
  `doc['quality'].value`,
  `${WEIGHTS.recency} * min(1, doc['recency'].value * recency)`,
  `(doc['sales_log'].value > 0 ? ${WEIGHTS.sales} * min(1, sales * ln(1 + pow(2, doc['sales_log'].value - age))) : 0)`,
].join(' + ')

/** Scores every product that the query finds. */
export function scoredByRelevance(query: Query, { now, salesPercentile }: RelevanceMoment): Query {
  const most = Math.log1p(salesAt(salesPercentile, now))
  // A forged cursor may contain a percentile so low that the quotient is infinite. JSON cannot represent infinity.
  const sales = most > 0 ? Math.min(1 / most, Number.MAX_VALUE) : 0
  const params = { recency: recencyScale(now), sales, age: now / SALES_HALF_LIFE_MS }
  return { function_score: { query, boost_mode: 'replace', script_score: { script: { lang: 'expression', source: SOURCE, params } } } }
}
