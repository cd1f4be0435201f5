import type { Snippet, Visibility } from '../../../schemas/snippets/types.ts'
import { readableJson } from '../readable.ts'
import {
  caughtUpKey,
  type ListReader,
  NOT_CAUGHT_UP,
  type ScoreReader,
  type View,
  type ViewContext,
  type ViewOperation,
  type ViewReader,
  viewTag,
  withCaughtUp,
} from '../view.ts'

/**
 * Snippets, keyed by id, and the lists that contain them. Fed by `snippet-decisions` and partitioned like it. The
 * partition also contains results of commands; see ../results.ts. All snippets of a user are in one partition, so that
 * the user's lists change atomically with the snippets.
 *
 * | key | value |
 * |---|---|
 * | `{snippets:<p>}:snippet:<id>` | JSON of a SnippetRecord; no key means that there is no such snippet, or that it has expired or was deleted |
 * | `{snippets:<p>}:burnt:<id>` | JSON of a burnt snippet whose reads can still be repeated; expires |
 * | `{snippets:<p>}:public` | sorted set: ids of public snippets with unlimited reads, by creation time |
 * | `{snippets:<p>}:user:<user_id>:<scope>:<order>` | sorted set: a user's snippets (scopes and orders below) |
 * | `{snippets:<p>}:versions:<id>` | sorted set: ids of all versions after the first version `<id>`, by creation time |
 *
 * The scope is `all` or `public`; the order is `created`, `views` or `title`.
 */
export const SNIPPETS_VIEW = 'snippets'

/** The data of a snippet that clients may see. Times are in epoch ms. */
export interface SnippetRecord {
  readonly id: string
  /** Decimal; undefined for anonymous snippets. */
  readonly userId: string | undefined
  readonly username: string | undefined
  readonly title: string | undefined
  readonly language: string
  readonly bytes: number
  readonly hash: string
  readonly visibility: Visibility
  readonly expiresAt: number | undefined
  readonly createdAt: number
  readonly views: number
  /** Undefined when reads are unlimited. */
  readonly readsLeft: number | undefined
  readonly predecessor: string | undefined
  /** Id of the first version; undefined when this is the first version. */
  readonly root: string | undefined
}

export type SnippetScope = 'all' | 'public'
export type SnippetOrder = 'created' | 'views' | 'title'

const SCOPES: readonly SnippetScope[] = ['all', 'public']
/** Number of leading characters by which titles are sorted. */
const TITLE_KEY_CHARACTERS = 64
const TITLE_END = '\0'
const MS_PER_SECOND = 1_000

/** @param repeatableMs how long the record of a burnt snippet is kept for readers who repeat a read */
export function snippetsView(repeatableMs: number): View<string, Snippet> {
  function operationsFor(partition: number, id: string, snippet: Snippet | null, context?: ViewContext): ViewOperation[] {
    const key = snippetKey(partition, id)
    if (snippet !== null && !isGone(snippet)) {
      const record = snippetRecord(snippet)
      const places = placesOf(partition, record)
      return [
        { op: 'set', key, value: JSON.stringify(record) },
        ...places.map(({ list, score, member }): ViewOperation => ({ op: 'zadd', key: list, score, member })),
      ]
    }
    const removal: ViewOperation = { op: 'del', key }
    const record = readableJson<SnippetRecord>(context?.held ?? null)
    if (context === undefined || record === undefined) return [removal]
    const places = placesOf(partition, record)
    const kept = snippet === null ? [] : keptForRepetition(burntKey(partition, id), snippet, record, context.now)
    return [removal, ...places.map(({ list, member }): ViewOperation => ({ op: 'zrem', key: list, member })), ...kept]
  }

  function keptForRepetition(key: string, snippet: Snippet, record: SnippetRecord, now: number): ViewOperation[] {
    const isBurnt = snippet.is_deleted && snippet.reads_left === 0
    const seconds = Math.floor(((snippet.gone_at ?? 0) + repeatableMs - now) / MS_PER_SECOND)
    if (!isBurnt || seconds < 1) return []
    return [
      { op: 'set', key, value: JSON.stringify(record) },
      { op: 'expire', key, seconds },
    ]
  }

  /**
   * Returns the key to read first, if any. The record of a deletion lacks the values by which lists are sorted, so the
   * stored record of the snippet must be read.
   */
  function heldKey(partition: number, id: string, snippet: Snippet | null): string | undefined {
    return snippet !== null && !isGone(snippet) ? undefined : snippetKey(partition, id)
  }

  return { name: SNIPPETS_VIEW, operationsFor, heldKey }
}

function isGone({ is_deleted, is_expired }: Snippet): boolean {
  return is_deleted || is_expired
}

interface Place {
  readonly list: string
  readonly score: number
  readonly member: string
}

/** Returns the lists that contain the snippet, with its score and member in each. */
function placesOf(partition: number, record: SnippetRecord): Place[] {
  const { id, userId, visibility, createdAt, views, title, root, readsLeft } = record
  const places: Place[] = []
  // Snippets with limited reads are not in public lists, because strangers could use up their reads.
  const isListed = visibility === 'public' && readsLeft === undefined
  if (isListed) places.push({ list: publicKey(partition), score: createdAt, member: id })
  if (root !== undefined) places.push({ list: versionsKey(partition, root), score: createdAt, member: id })
  if (userId === undefined) return places
  for (const scope of SCOPES) {
    if (scope === 'public' && !isListed) continue
    const list = (order: SnippetOrder) => userKey(partition, userId, scope, order)
    places.push({ list: list('created'), score: createdAt, member: id })
    places.push({ list: list('views'), score: views, member: id })
    places.push({ list: list('title'), score: 0, member: titleMember(title, id) })
  }
  return places
}

/**
 * Returns a member that sorts by title regardless of case, with untitled snippets last. The member ends with the id.
 */
function titleMember(title: string | undefined, id: string): string {
  if (title === undefined) return `1${TITLE_END}${id}`
  const folded = [...title.normalize('NFKC').toLowerCase()].slice(0, TITLE_KEY_CHARACTERS).join('')
  return `0${folded}${TITLE_END}${id}`
}

function snippetRecord(snippet: Snippet): SnippetRecord {
  return {
    id: snippet.paste_id,
    userId: snippet.user_id === null ? undefined : String(snippet.user_id),
    username: snippet.username ?? undefined,
    title: snippet.title ?? undefined,
    language: snippet.language,
    bytes: snippet.content_size,
    hash: snippet.content_hash,
    visibility: snippet.visibility,
    expiresAt: snippet.expires_at ?? undefined,
    createdAt: snippet.created_at,
    views: snippet.view_count,
    readsLeft: snippet.reads_left ?? undefined,
    predecessor: snippet.predecessor ?? undefined,
    root: snippet.root ?? undefined,
  }
}

/**
 * Reads a snippet. Returns NOT_CAUGHT_UP while the view is being filled. Until the view is complete, a missing snippet
 * may exist, and a snippet that the view contains may have been deleted by a record that the view does not include yet.
 */
export async function readSnippet(
  reader: ListReader,
  partition: number,
  id: string,
): Promise<SnippetRecord | undefined | typeof NOT_CAUGHT_UP> {
  const text = await readText(reader, partition, id)
  if (text === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  return text === null ? undefined : (JSON.parse(text) as SnippetRecord)
}

/** Returns the record of a snippet whose reads are used up, for as long as its readers may repeat their reads. */
export async function readBurntSnippet(reader: ViewReader, partition: number, id: string): Promise<SnippetRecord | undefined> {
  const text = await reader.get(burntKey(partition, id))
  return text === null ? undefined : (JSON.parse(text) as SnippetRecord)
}

/**
 * Returns the given snippets that exist and whose records can be parsed, in the given order. Returns NOT_CAUGHT_UP if a
 * partition of one of them is being filled; see `readSnippet`.
 */
export async function readSnippets(
  reader: ListReader,
  placed: readonly (readonly [partition: number, id: string])[],
): Promise<SnippetRecord[] | typeof NOT_CAUGHT_UP> {
  const found = await Promise.all(placed.map(([partition, id]) => readText(reader, partition, id)))
  if (found.includes(NOT_CAUGHT_UP)) return NOT_CAUGHT_UP
  return (found as (string | null)[]).flatMap((text) => readableJson<SnippetRecord>(text) ?? [])
}

/** Reads the record of a snippet together with the caught-up flag of its partition. */
async function readText(reader: ListReader, partition: number, id: string): Promise<string | null | typeof NOT_CAUGHT_UP> {
  // Redis reads both values at the same moment.
  const [text, caughtUp] = await reader.mget([snippetKey(partition, id), caughtUpKey(SNIPPETS_VIEW, partition)])
  return caughtUp === null ? NOT_CAUGHT_UP : text
}

export interface SnippetPage {
  readonly total: number
  readonly snippets: readonly SnippetRecord[]
}

export interface UserListQuery {
  readonly user: string
  readonly scope: SnippetScope
  readonly order: SnippetOrder
  readonly descending: boolean
  /** Index of the first snippet, starting at 0. */
  readonly from: number
  readonly count: number
}

export async function readUserSnippets(
  reader: ViewReader & ListReader,
  partition: number,
  { user, scope, order, descending, from, count }: UserListQuery,
): Promise<SnippetPage | typeof NOT_CAUGHT_UP> {
  const list = userKey(partition, user, scope, order)
  const range = descending ? reader.zrevrange : reader.zrange
  const [total, members, caughtUp] = await Promise.all([
    reader.zcard(list),
    range(list, from, from + count - 1),
    reader.get(caughtUpKey(SNIPPETS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  const ids = order === 'title' ? members.map((member) => member.slice(member.lastIndexOf(TITLE_END) + 1)) : members
  return await pageOf(
    reader,
    total,
    ids.map((id) => [partition, id]),
  )
}

/**
 * Returns the newest public snippets of all partitions. Each partition contributes up to `from` + `count` ids, so
 * callers must limit `from`. Only the snippets of the page are read.
 */
export async function readNewest(
  reader: ViewReader & ListReader & ScoreReader,
  partitions: number,
  from: number,
  count: number,
): Promise<SnippetPage | typeof NOT_CAUGHT_UP> {
  const numbers = Array.from({ length: partitions }, (_, partition) => partition)
  const lists = await Promise.all(
    numbers.map(async (partition) => {
      const key = publicKey(partition)
      const [total, found, caughtUp] = await Promise.all([
        reader.zcard(key),
        reader.zrevrangeWithScores(key, 0, from + count - 1),
        reader.get(caughtUpKey(SNIPPETS_VIEW, partition)),
      ])
      return { total, placed: found.map((scored) => ({ partition, ...scored })), isCaughtUp: caughtUp !== null }
    }),
  )
  if (lists.some(({ isCaughtUp }) => !isCaughtUp)) return NOT_CAUGHT_UP
  // In descending order, Redis also orders members with equal scores by descending member. The merged list must use the
  // same order, because otherwise a page could lack snippets.
  const newest = lists.flatMap(({ placed }) => placed).sort((a, b) => b.score - a.score || compare(b.member, a.member))
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  const page = newest.slice(from, from + count).map(({ partition, member }) => [partition, member] as const)
  return await pageOf(reader, total, page)
}

async function pageOf(
  reader: ListReader,
  total: number,
  placed: readonly (readonly [partition: number, id: string])[],
): Promise<SnippetPage | typeof NOT_CAUGHT_UP> {
  const snippets = await readSnippets(reader, placed)
  return snippets === NOT_CAUGHT_UP ? NOT_CAUGHT_UP : { total, snippets }
}

/** Maximum number of versions after the first that are returned. If there are more, only the newest are returned. */
export const MAX_VERSIONS = 100

/** Returns the newest versions after a first version, at most MAX_VERSIONS, oldest first. */
export async function readVersions(
  reader: ViewReader & ListReader,
  partition: number,
  root: string,
): Promise<SnippetRecord[] | typeof NOT_CAUGHT_UP> {
  const newest = reader.zrevrange(versionsKey(partition, root), 0, MAX_VERSIONS - 1)
  const ids = await withCaughtUp(reader, SNIPPETS_VIEW, partition, newest)
  if (ids === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  return await readSnippets(
    reader,
    ids.reverse().map((id) => [partition, id]),
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function snippetKey(partition: number, id: string): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:snippet:${id}`
}

function burntKey(partition: number, id: string): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:burnt:${id}`
}

function publicKey(partition: number): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:public`
}

function userKey(partition: number, user: string, scope: SnippetScope, order: SnippetOrder): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:user:${user}:${scope}:${order}`
}

function versionsKey(partition: number, root: string): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:versions:${root}`
}
