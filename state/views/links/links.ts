import type { Link } from '../../../schemas/links/types.ts'
import { NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Links, keyed by short code. Fed by `link-decisions` and partitioned like it. The partition also contains results of
 * commands; see ../results.ts.
 *
 * | key | value |
 * |---|---|
 * | `{links:<p>}:link:<short_code>` | JSON of a StoredLink; no key means that there is no such link |
 */
export const LINKS_VIEW = 'links'

/**
 * The stored value of a link. Every link has one, so field names are short, and fields with their default value are
 * absent.
 */
interface StoredLink {
  /** Long URL. */
  readonly u: string
  /** Host name of the short domain. */
  readonly d: string
  /** Creation time, epoch ms. */
  readonly c: number
  /** Expiry time, epoch ms; absent when the link never expires. */
  readonly e?: number
  /** Redirect target after expiry; absent when there is none. */
  readonly x?: string
  /** Id of the owner; absent for anonymous links. */
  readonly o?: string
  /** 0 when the link is switched off. */
  readonly a?: 0
  /** 0 when clicks are not counted. */
  readonly n?: 0
}

/** The data of a link that clients may see. Times are in epoch ms. */
export interface LinkRecord {
  readonly longUrl: string
  readonly domain: string
  readonly createdAt: number
  readonly expiresAt: number | undefined
  readonly expiredUrl: string | undefined
  /** Decimal; undefined for anonymous links. */
  readonly userId: string | undefined
  /** False when the owner or an administrator has switched the link off. */
  readonly isActive: boolean
  /** True when clicks are counted. */
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

/**
 * Reads a link together with the caught-up flag. A reader whose reads share commands reads both with one command.
 * Returns NOT_CAUGHT_UP while the view is being filled. Until the view is complete, a missing link may exist, and a
 * link that the view contains may have been deleted or switched off by a record that the view does not include yet.
 */
export async function readLink(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  code: string,
): Promise<LinkRecord | undefined | typeof NOT_CAUGHT_UP> {
  const text = await withCaughtUp(reader, LINKS_VIEW, partition, reader.get(keyOf(partition, code)))
  if (text === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  return text === null ? undefined : parseLink(text)
}

function keyOf(partition: number, code: string): string {
  return `${viewTag(LINKS_VIEW, partition)}:link:${code}`
}
