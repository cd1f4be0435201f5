import type { TermBaseline } from '../../schemas/trends/types.ts'
import { HOURS_PER_DAY, HOURS_PER_WEEK, hourOfMinute, hourOfWeek, MINUTES_PER_HOUR, weekOf } from './time.ts'

/** Weight of the newest week in the exponentially weighted mean of a term's count: docs/services/trends.md#baseline */
const NEWEST_WEIGHT = 0.3
/**
 * An hour is final if it is at least this many hours older than the hour in which the window ends. This holds even if
 * the window ends at the very beginning of an hour: at 12:00, for example, the hours before 10:00 are final
 * (`lastFinalHour`).
 */
const FINAL_AFTER_HOURS = 3

/**
 * Creates an empty baseline. Every hour starting with `hour` counts as observed, and an hour without contributions
 * counts as zero.
 */
export function newBaseline(hour: number): TermBaseline {
  return { since_hour: hour, seen_hour: hour, hours_of_week: [], means: [], weeks: [] }
}

/** Returns whether a term tracked since `sinceHour` (0 if it was never tracked) has a usual count in this hour. */
export function isKnownAt(sinceHour: number, hour: number): boolean {
  return sinceHour !== 0 && hour >= knownFrom(sinceHour)
}

/** Returns the first hour in which a term tracked since `sinceHour` has a usual count. */
export function knownFrom(sinceHour: number): number {
  return sinceHour + FINAL_AFTER_HOURS
}

/**
 * Returns the last hour that may contribute to the usual counts of a window. The window's newest bucket is
 * `lastMinute`.
 */
export function lastUsedHour(lastMinute: number): number {
  return hourOfMinute(lastMinute) - FINAL_AFTER_HOURS
}

/**
 * Returns the usual count in this hour: from the same hour of earlier weeks, otherwise from the same hour of earlier
 * days, otherwise from all observed hours that are final. Returns undefined if there is none. The baseline must have
 * learned all hours that are final.
 */
export function usualInHour(baseline: TermBaseline, hour: number): number | undefined {
  const { since_hour } = baseline
  if (isObservedByWeek(since_hour, hour)) return usualOfWeek(baseline, hour)
  if (since_hour <= hour - HOURS_PER_DAY) {
    let sum = 0
    let days = 0
    for (let day = hour - HOURS_PER_DAY; day >= since_hour; day -= HOURS_PER_DAY) {
      sum += countIn(baseline, day)
      days++
    }
    return sum / days
  }
  const last = hour - FINAL_AFTER_HOURS
  if (since_hour > last) return undefined
  let sum = 0
  for (let observed = since_hour; observed <= last; observed++) sum += countIn(baseline, observed)
  return sum / (last - since_hour + 1)
}

/**
 * Returns the usual count in the window whose newest bucket is `lastMinute`. The two hours that the window covers are
 * weighted by their minutes in the window, so that the result does not jump at the beginning of an hour.
 */
export function usualInWindow({ before, during }: HourlyUsual, lastMinute: number): number {
  const minutes = (lastMinute % MINUTES_PER_HOUR) + 1
  return (during * minutes + before * (MINUTES_PER_HOUR - minutes)) / MINUTES_PER_HOUR
}

/** The usual counts of a term in one hour and the adjacent hours. */
export interface HourlyUsual {
  /** The usual count in the previous hour. */
  readonly before: number
  readonly during: number
  /** The lowest usual count from now to the end of the next hour. */
  readonly least: number
}

/** Returns the usual counts around the hour of `lastMinute`; undefined if the term has none in that hour. */
export function hourlyUsual(baseline: TermBaseline, lastMinute: number): HourlyUsual | undefined {
  const hour = hourOfMinute(lastMinute)
  const during = usualInHour(baseline, hour)
  if (during === undefined) return undefined
  const before = usualInHour(baseline, hour - 1) ?? during
  // The usual count of the next hour is a lower bound, because hours that are not learned yet can only raise it.
  const least = Math.min(usualInWindow({ before, during, least: 0 }, lastMinute), during, usualInHour(baseline, hour + 1) ?? 0)
  return { before, during, least }
}

/**
 * Adds an hour's final count to the mean of its hour of the week. Call it only for hours with contributions, because
 * hours without contributions count as zero automatically. Calls for the same hour of the week must be in order.
 */
export function learn(baseline: TermBaseline, hour: number, count: number): void {
  const place = baseline.hours_of_week.indexOf(hourOfWeek(hour))
  const mean = isObservedByWeek(baseline.since_hour, hour)
    ? NEWEST_WEIGHT * count + (1 - NEWEST_WEIGHT) * usualOfWeek(baseline, hour)
    : count
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

function isObservedByWeek(sinceHour: number, hour: number): boolean {
  return sinceHour <= hour - HOURS_PER_WEEK
}

/**
 * Returns the mean count of the same hour in earlier weeks, decayed for each week without contributions since its last
 * update.
 */
function usualOfWeek(baseline: TermBaseline, hour: number): number {
  const place = baseline.hours_of_week.indexOf(hourOfWeek(hour))
  if (place < 0) return 0
  const silentWeeks = weekOf(hour) - baseline.weeks[place] - 1
  return baseline.means[place] * (1 - NEWEST_WEIGHT) ** Math.max(0, silentWeeks)
}

/**
 * Returns the count of an hour in the first week of the baseline. In that week, the mean of an hour is its only count.
 */
function countIn(baseline: TermBaseline, hour: number): number {
  const place = baseline.hours_of_week.indexOf(hourOfWeek(hour))
  return place < 0 ? 0 : baseline.means[place]
}
