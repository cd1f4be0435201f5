import type { TermBaseline } from '../../schemas/trends/types.ts'
import { hourOfWeek, sameHourOfWeekBefore, weekOf } from './time.ts'

/** Weight of the newest week in the exponentially weighted mean: docs/services/trends.md#baseline */
const NEWEST_WEIGHT = 0.3

/** Creates an empty baseline. Every hour from `hour` on counts as observed, and silent hours count as zero. */
export function newBaseline(hour: number): TermBaseline {
  return { since_hour: hour, seen_hour: hour, hours_of_week: [], means: [], weeks: [] }
}

/** Returns whether a term tracked since `sinceHour` has been observed at this hour of the week in an earlier week. */
export function isKnownAt(sinceHour: number, hour: number): boolean {
  return sinceHour !== 0 && sinceHour <= sameHourOfWeekBefore(hour)
}

/** Returns the usual count in this hour of the week, from earlier weeks; undefined if none was observed. */
export function usualAt(baseline: TermBaseline, hour: number): number | undefined {
  if (!isKnownAt(baseline.since_hour, hour)) return undefined
  const place = baseline.hours_of_week.indexOf(hourOfWeek(hour))
  return place < 0 ? 0 : fadedMean(baseline, place, weekOf(hour))
}

/**
 * Adds an hour's final count to the mean of its hour of the week. Call it only for hours with contributions, because
 * silent hours count as zero automatically. Calls for the same hour of the week must be in order.
 */
export function learn(baseline: TermBaseline, hour: number, count: number): void {
  const place = baseline.hours_of_week.indexOf(hourOfWeek(hour))
  const usual = usualAt(baseline, hour)
  const mean = usual === undefined ? count : NEWEST_WEIGHT * count + (1 - NEWEST_WEIGHT) * usual
  baseline.seen_hour = Math.max(baseline.seen_hour, hour)
  if (place < 0) {
    baseline.hours_of_week.push(hourOfWeek(hour))
    baseline.means.push(mean)
    baseline.weeks.push(weekOf(hour))
  } else {
    baseline.means[place] = mean
    baseline.weeks[place] = weekOf(hour)
  }
}

/** Returns the mean, decayed for each silent week between its last update and `week`. */
function fadedMean(baseline: TermBaseline, place: number, week: number): number {
  const silentWeeks = week - baseline.weeks[place] - 1
  return baseline.means[place] * (1 - NEWEST_WEIGHT) ** Math.max(0, silentWeeks)
}
