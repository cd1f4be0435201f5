import type { Link } from '../../../schemas/links/types.ts'
import { caughtUpKey, type ListReader, NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag } from '../view.ts'
import { type LinkRecord, parseLink, storedLink } from './links.ts'

/**
 * The links of each user, newest first. Fed by `user-links`, partitioned by user.
 *
 * | key | value |
 * |---|---|
 * | `{user-links:<p>}:codes:<user_id>` | sorted set: short codes by creation time |
 * | `{user-links:<p>}:links:<user_id>` | hash: link by short code, in the format of the links view |
 */
export const USER_LINKS_VIEW = 'user-links'

export const userLinksView: View<string, Link> = { name: USER_LINKS_VIEW, operationsFor }

function operationsFor(partition: number, key: string, link: Link | null): ViewOperation[] {
  const colon = key.indexOf(':')
  const user = key.slice(0, colon)
  const code = key.slice(colon + 1)
  const codes = codesKey(partition, user)
  const links = linksKey(partition, user)
  if (link === null)
    return [
      { op: 'zrem', key: codes, member: code },
      { op: 'hdel', key: links, field: code },
    ]
  return [
    { op: 'zadd', key: codes, score: link.created_at, member: code },
    { op: 'hset', key: links, fields: { [code]: storedLink(link) } },
  ]
}

export interface ListedLinks {
  readonly total: number
  readonly links: readonly { readonly code: string; readonly link: LinkRecord }[]
}

/** @param from index of the first link, starting at 0 */
export async function readUserLinks(
  reader: ViewReader & ListReader,
  partition: number,
  user: string,
  from: number,
  count: number,
): Promise<ListedLinks | typeof NOT_CAUGHT_UP> {
  const codes = codesKey(partition, user)
  const [total, page, caughtUp] = await Promise.all([
    reader.zcard(codes),
    reader.zrevrange(codes, from, from + count - 1),
    reader.get(caughtUpKey(USER_LINKS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  if (page.length === 0) return { total, links: [] }
  const texts = await reader.hmget(linksKey(partition, user), page)
  // Skips links that were deleted between the two reads.
  return { total, links: page.flatMap((code, index) => (texts[index] === null ? [] : [{ code, link: parseLink(texts[index]) }])) }
}

function codesKey(partition: number, user: string): string {
  return `${viewTag(USER_LINKS_VIEW, partition)}:codes:${user}`
}

function linksKey(partition: number, user: string): string {
  return `${viewTag(USER_LINKS_VIEW, partition)}:links:${user}`
}
