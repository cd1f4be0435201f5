import type { LinkStatsEntry, LinkStatsHour } from '../../schemas/links/types.ts'
import type { ReadLinkStats } from '../../state/views/links/link-stats.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Number of hours in the statistics, including the current hour. */
const SHOWN_HOURS = 48

/** The properties of a link that are shown in its statistics. */
export interface CountedLink {
  /** Epoch ms. */
  readonly createdAt: number
  readonly analytics: boolean
}

/**
 * Creates the body of GET /api/v1/urls/{short_code}/stats.
 * @param now epoch ms
 */
export function clickStats(code: string, link: CountedLink, { asOf, stats }: ReadLinkStats, now: number) {
  const { total_clicks = 0, bot_clicks = 0, unique_clicks = 0, unique_is_exact = true } = stats ?? {}
  const { hours = [], referrers = [], countries = [], browsers = [], devices = [] } = stats ?? {}
  return {
    short_code: code,
    total_clicks,
    clicks_today: clicksSince(hours, Math.floor(now / DAY_MS) * DAY_MS),
    bot_clicks,
    unique_clicks,
    unique_is_exact,
    top_referrers: referrers.map(nameOf),
    top_countries: countries.map(nameOf),
    top_browsers: browsers.map(nameOf),
    top_devices: devices.map(nameOf),
    counts: { referrers, countries, browsers, devices },
    clicks_per_hour: lastHours(hours, now),
    analytics: link.analytics,
    created_at: new Date(link.createdAt).toISOString(),
    as_of: new Date(asOf).toISOString(),
  }
}

function nameOf({ value }: LinkStatsEntry): string {
  return value
}

function clicksSince(hours: readonly LinkStatsHour[], start: number): number {
  return hours.reduce((sum, hour) => (hour.start >= start ? sum + hour.clicks : sum), 0)
}

/** Returns the clicks of each hour, oldest first. An hour without clicks has the value 0. */
function lastHours(hours: readonly LinkStatsHour[], now: number): { hour: string; clicks: number }[] {
  const counted = new Map(hours.map(({ start, clicks }) => [start, clicks]))
  const current = Math.floor(now / HOUR_MS) * HOUR_MS
  return Array.from({ length: SHOWN_HOURS }, (_, index) => {
    const start = current - (SHOWN_HOURS - 1 - index) * HOUR_MS
    return { hour: new Date(start).toISOString(), clicks: counted.get(start) ?? 0 }
  })
}
