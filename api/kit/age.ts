/**
 * Returns whether a time is less than `ms` ago. For a time in the future, returns false: the clock has been set back.
 * All times are in epoch ms.
 */
export function isWithin(at: number, ms: number, now: number): boolean {
  return at <= now && now - at < ms
}
