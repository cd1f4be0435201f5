import { DAY_MS, HOUR_MS } from '../../retention.ts'

const STATISTICS_DAYS = 7
const NEIGHBOURS_DAYS = 30
const TRENDING_HOURS = 6

/**
 * Half-lives of events, in ms: the time in which an event's weight halves; see
 * docs/services/recommendations.md#half-lives.
 */
export const HALF_LIFE_MS = {
  trending: TRENDING_HOURS * HOUR_MS,
  statistics: STATISTICS_DAYS * DAY_MS,
  neighbours: NEIGHBOURS_DAYS * DAY_MS,
} as const

/** Returns the factor by which the weight of an event is multiplied after `ms`. */
export function decay(ms: number, halfLifeMs: number): number {
  return 2 ** (-ms / halfLifeMs)
}
