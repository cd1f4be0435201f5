import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The header in which a page proves that it can read this server's answers. Pages of other origins cannot send it,
 * because answers to preflight requests do not allow it.
 */
export const CSRF_HEADER = 'x-csrf-token'

const PURPOSE = 'millrace-csrf'

/**
 * Returns the value of the header for a session. It is derived from the session's token, which only the browser and
 * this server know. It is therefore valid for no other session, every API process computes the same value, and nothing
 * has to be stored. It does not reveal the token.
 */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update(PURPOSE).digest('base64url')
}

/** Compares in constant time. */
export function isCsrfTokenOf(sessionToken: string, offered: string | undefined): boolean {
  const expected = Buffer.from(csrfTokenOf(sessionToken))
  const given = Buffer.from(offered ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
