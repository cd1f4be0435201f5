/**
 * Keys of the records of one user in `match-seen` and `match-relations`. User ids are UUIDs, so they contain no colon.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns whether a string is a UUID in lower case. Records contain all their ids in this form. */
export function isRecordId(text: string): boolean {
  return UUID.test(text)
}

const SELF = 'self'
const PAGE = 'page-'

export type UserKey =
  | { readonly kind: 'self'; readonly userId: string }
  | { readonly kind: 'page'; readonly userId: string; readonly page: number }
  | { readonly kind: 'relation'; readonly userId: string; readonly otherId: string }

export function selfKey(userId: string): string {
  return `${userId}:${SELF}`
}

export function pageKey(userId: string, page: number): string {
  return `${userId}:${PAGE}${page}`
}

export function relationKey(userId: string, otherId: string): string {
  return `${userId}:${otherId}`
}

/** Parses a key. Returns undefined for a key that is only a user id. */
export function parseUserKey(key: string): UserKey | undefined {
  const colon = key.indexOf(':')
  if (colon < 0) return undefined
  const userId = key.slice(0, colon)
  const rest = key.slice(colon + 1)
  if (rest === SELF) return { kind: 'self', userId }
  if (rest.startsWith(PAGE)) return { kind: 'page', userId, page: Number(rest.slice(PAGE.length)) }
  return { kind: 'relation', userId, otherId: rest }
}
