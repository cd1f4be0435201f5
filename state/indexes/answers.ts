import type { SearchAnswer } from './client.ts'

export const OK = 200
export const NOT_FOUND = 404
export const CONFLICT = 409
const FIRST_ERROR = 300

/**
 * Checks that a request succeeded.
 * @throws Error with the server's reason if the request failed. In that case, a retry does not help.
 */
export function requireSuccess({ status, body }: SearchAnswer, what: string): void {
  if (status < FIRST_ERROR) return
  throw new Error(`${what}: the search server answered ${status}: ${reasonOf(body?.error)}`)
}

/** Returns the text of an error in an answer or in one item of a bulk answer. */
export function reasonOf(error: unknown): string {
  const { type, reason, caused_by: cause } = (typeof error === 'object' && error !== null ? error : { reason: error }) as ErrorBody
  return [type, reason, cause?.reason].filter((text) => text !== undefined && text !== null).join(': ')
}

interface ErrorBody {
  readonly type?: string
  readonly reason?: unknown
  readonly caused_by?: { readonly reason?: string }
}
