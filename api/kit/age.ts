/**
 * Returns whether a time is less than `ms` ago. A time in the future is not, because the clock has been set back since.
 * All times are in epoch ms.
 */
export function isWithin(at: number, ms: number, now: number): boolean {
  return at <= now && now - at < ms
}
