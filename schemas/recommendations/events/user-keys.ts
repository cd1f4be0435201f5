/** Keys of the records of one user in `user-features`. User ids are decimal numbers, so they contain no colon. */

const SELF = 'self'
const PAGE = 'page-'

export type UserFeaturesKey =
  | { readonly kind: 'self'; readonly userId: string }
  | { readonly kind: 'page'; readonly userId: string; readonly page: number }

export function selfKey(userId: bigint): string {
  return `${userId}:${SELF}`
}

export function pageKey(userId: bigint, page: number): string {
  return `${userId}:${PAGE}${page}`
}

export function parseUserFeaturesKey(key: string): UserFeaturesKey {
  const colon = key.indexOf(':')
  const userId = key.slice(0, colon)
  const rest = key.slice(colon + 1)
  return rest === SELF ? { kind: 'self', userId } : { kind: 'page', userId, page: Number(rest.slice(PAGE.length)) }
}
