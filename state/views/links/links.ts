import type { Link } from '../../../schemas/links/types.ts'
import { caughtUpKey, NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag } from '../view.ts'

/**
 * Links by short code. Fed by `link-decisions`, partitioned as it is (see results.ts for what else lies there).
 *
 * | key | value |
 * |---|---|
 * | `{links:<p>}:link:<short_code>` | JSON of a StoredLink; gone: deleted |
 */
export const LINKS_VIEW = 'links'

/** Short names, since there is one per link; absent fields have the usual value. */
interface StoredLink {
  /** URL. */
  readonly u: string
  /** Host of the short domain. */
  readonly d: string
  /** Created, epoch ms. */
  readonly c: number
  /** Expires, epoch ms; absent: never. */
  readonly e?: number
  /** Where visitors go after it has expired; absent: nowhere. */
  readonly x?: string
  /** Owner's id; absent: anonymous. */
  readonly o?: string
  /** 0: switched off. */
  readonly a?: 0
  /** 0: clicks are not counted. */
  readonly n?: 0
}

/** A link as clients may know it. Times in epoch ms. */
export interface LinkRecord {
  readonly longUrl: string
  readonly domain: string
  readonly createdAt: number
  readonly expiresAt: number | undefined
  readonly expiredUrl: string | undefined
  /** In decimal; undefined: anonymous. */
  readonly userId: string | undefined
  /** False: switched off by its owner. */
  readonly isActive: boolean
  /** Its clicks are counted. */
  readonly analytics: boolean
}

export const linksView: View<string, Link> = { name: LINKS_VIEW, operationsFor }

function operationsFor(partition: number, code: string, link: Link | null): ViewOperation[] {
  const key = keyOf(partition, code)
  return link === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: storedLink(link) }]
}

export function storedLink({ long_url, domain, created_at, expires_at, expired_url, user_id, is_active, analytics }: Link): string {
  const stored: StoredLink = {
    u: long_url,
    d: domain,
    c: created_at,
    ...(expires_at !== null && { e: expires_at }),
    ...(expired_url !== null && { x: expired_url }),
    ...(user_id !== null && { o: String(user_id) }),
    ...(!is_active && { a: 0 as const }),
    ...(!analytics && { n: 0 as const }),
  }
  return JSON.stringify(stored)
}

export function parseLink(text: string): LinkRecord {
  const { u, d, c, e, x, o, a, n } = JSON.parse(text) as StoredLink
  return { longUrl: u, domain: d, createdAt: c, expiresAt: e, expiredUrl: x, userId: o, isActive: a !== 0, analytics: n !== 0 }
}

/** One read for a link that is there; absence is believed only of a view that is caught up. */
export async function readLink(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  code: string,
): Promise<LinkRecord | undefined | typeof NOT_CAUGHT_UP> {
  const text = await reader.get(keyOf(partition, code))
  if (text !== null) return parseLink(text)
  return (await reader.get(caughtUpKey(LINKS_VIEW, partition))) === null ? NOT_CAUGHT_UP : undefined
}

function keyOf(partition: number, code: string): string {
  return `${viewTag(LINKS_VIEW, partition)}:link:${code}`
}
