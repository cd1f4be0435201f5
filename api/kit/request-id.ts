import { randomUUID } from 'node:crypto'

/**
 * Accepted form of request ids from callers. Ids are returned in a header and logged, so only harmless characters and a
 * limited length are accepted.
 */
const ACCEPTED = /^[A-Za-z0-9._:-]{1,128}$/

/** Returns the caller's id if its form is accepted; otherwise a new id. */
export function requestIdFrom(given: string | null | undefined): string {
  return typeof given === 'string' && ACCEPTED.test(given) ? given : randomUUID()
}
