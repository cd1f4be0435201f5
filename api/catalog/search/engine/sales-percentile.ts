import { isWithin } from '../../../kit/age.ts'
import type { ProductIndex } from './product-index.ts'

/**
 * How long the percentile is kept. The percentile changes slowly, because the sales of a single product hardly affect
 * it.
 */
const RENEWED_AFTER_MS = 10 * 60_000
export const PERCENT = 99

/** Returns the 99th percentile of `sales_log` among products with sales; null if nothing was sold. */
export type SalesPercentile = () => Promise<number | null>

/**
 * Returns a function that reads the percentile at its first call, and again at the first call more than
 * `RENEWED_AFTER_MS` after the last read. While the new percentile is being read, callers get the previous one.
 * @param now returns the time in epoch ms
 */
export function salesPercentile(index: Pick<ProductIndex, 'search'>, now: () => number): SalesPercentile {
  let known: Promise<number | null> | undefined
  let renewedAt = Number.NEGATIVE_INFINITY

  async function load(): Promise<number | null> {
    const aggs = { sales: { percentiles: { field: 'sales_log', percents: [PERCENT], keyed: false } } }
    const answer = await index.search({ size: 0, track_total_hits: false, aggs })
    return (answer.aggregations.sales.values[0]?.value as number | null | undefined) ?? null
  }

  return function currentPercentile() {
    if (known !== undefined && isWithin(renewedAt, RENEWED_AFTER_MS, now())) return known
    renewedAt = now()
    const before = known
    const renewed = load()
    known = before ?? renewed
    renewed.then(
      () => {
        known = renewed
      },
      () => {
        // The percentile could not be read. Searches use the last known percentile, if there is one, and the next
        // search tries again.
        renewedAt = Number.NEGATIVE_INFINITY
        known = before
      },
    )
    return known
  }
}
