import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * A page sends this header to prove that it can read this server's answers. Pages of other origins cannot send the
 * header, because answers to preflight requests do not allow it.
 */
export const CSRF_HEADER = 'x-csrf-token'

const PURPOSE = 'millrace-csrf'

/**
 * Returns the value of the CSRF header for a session. The value is derived from the session's token, which pages cannot
 * read. The value is therefore valid for no other session, and every API process can compute it without storing
 * anything. The value does not reveal the token.
 */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update(PURPOSE).digest('base64url')
}

/** Returns whether the offered value is the CSRF token of the session. Compares in constant time. */
export function isCsrfTokenOf(sessionToken: string, offered: string | undefined): boolean {
  const expected = Buffer.from(csrfTokenOf(sessionToken))
  const given = Buffer.from(offered ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
