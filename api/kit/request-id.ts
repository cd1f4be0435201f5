import { randomUUID } from 'node:crypto'

/**
 * Accepted form of callers' ids. They are echoed in a header and logged, so only harmless characters and a bounded
 * length are accepted.
 */
const ACCEPTED = /^[A-Za-z0-9._:-]{1,128}$/

/** Returns the caller's id if it is acceptable, otherwise a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  return typeof given === 'string' && ACCEPTED.test(given) ? given : randomUUID()
}
