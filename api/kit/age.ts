/**
 * Returns whether a time is less than `ms` ago. Returns false for a time in the future, because the clock must have
 * been set back since then. All times are in epoch ms.
 */
export function isWithin(at: number, ms: number, now: number): boolean {
  return at <= now && now - at < ms
}
