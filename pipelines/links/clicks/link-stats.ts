import type { ClickTotals, LinkStats, LinkVisitors } from '../../../schemas/links/types.ts'
import { topOf } from './tally.ts'
import { HOUR_MS } from './time.ts'
import { countVisitors } from './visitors.ts'

/** Number of entries in each list of values. */
const TOP_ENTRIES = 10

/**
 * Creates the record from which the view is built.
 * @param asOf epoch ms
 */
export function linkStatsOf(totals: ClickTotals, visitors: LinkVisitors, asOf: number): LinkStats {
  const { count, isExact } = countVisitors(visitors)
  return {
    as_of: asOf,
    total_clicks: totals.total,
    bot_clicks: totals.bots,
    unique_clicks: count,
    unique_is_exact: isExact,
    hours: totals.hours.map(({ hour, clicks }) => ({ start: hour * HOUR_MS, clicks })),
    referrers: topOf(totals.referrers, TOP_ENTRIES),
    countries: topOf(totals.countries, TOP_ENTRIES),
    browsers: topOf(totals.browsers, TOP_ENTRIES),
    devices: topOf(totals.devices, TOP_ENTRIES),
  }
}

/** Creates the record that reports the time up to which a partition has counted all clicks. */
export function asOfRecord(asOf: number): LinkStats {
  const none = { hours: [], referrers: [], countries: [], browsers: [], devices: [] }
  return { as_of: asOf, total_clicks: 0, bot_clicks: 0, unique_clicks: 0, unique_is_exact: true, ...none }
}
