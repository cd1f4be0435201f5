export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Number of hours in the statistics. They cover the last two days, including the current hour. */
export const KEPT_HOURS = 48
/**
 * How far the timestamp of a click may be ahead of the worker's clock. If it is further ahead, the producer's clock is
 * wrong.
 */
export const MAX_AHEAD_MS = 5 * 60_000

/**
 * Matches a time in ISO 8601. The groups are the time without its zone, its day, and the hours and minutes of the zone.
 * A zone may lack its minutes or its colon.
 */
const ISO_TIME = /^((\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?$/

/**
 * Parses the timestamp of a click. `Date.parse` also accepts other texts, such as `5`, and interprets a time without a
 * zone in the zone of the machine. This function treats such a time as UTC.
 * @returns epoch ms; NaN if the text is not a time in ISO 8601
 */
export function timeOf(timestamp: string): number {
  const found = ISO_TIME.exec(timestamp)
  if (found === null) return Number.NaN
  const [, time, day, hours, minutes = '00'] = found
  if (!isDay(day)) return Number.NaN
  // `Date.parse` reads only zones with hours and minutes.
  return Date.parse(hours === undefined ? `${time}Z` : `${time}${hours}:${minutes}`)
}

/** Returns whether the calendar has this day. `Date.parse` reads 31 February as 3 March. */
function isDay(day: string): boolean {
  const midnight = Date.parse(day)
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day)
}
