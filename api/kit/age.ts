/**
 * Returns whether the time `at` lies within the last `ms` before `now`. Returns false if `at` is after `now`, because
 * the clock must then have been set back.
 */
export function isWithin(at: number, ms: number, now: number): boolean {
  return at <= now && now - at < ms
}
