const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export const EXPIRATIONS = ['1h', '1d', '7d', '30d', '1y', 'never'] as const
export type Expiration = (typeof EXPIRATIONS)[number]

const LIFETIMES_MS: Readonly<Record<Expiration, number | null>> = {
  '1h': HOUR_MS,
  '1d': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '1y': 365 * DAY_MS,
  never: null,
}

/** Returns the time of expiry, epoch ms; null if the link never expires. */
export function expiryOf(expiration: Expiration, now: number): number | null {
  const lifetime = LIFETIMES_MS[expiration]
  return lifetime === null ? null : now + lifetime
}
