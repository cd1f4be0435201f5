import type { ReadSnippet } from '../../../schemas/snippets/flow.ts'
import type { Snippet, Visibility } from '../../../schemas/snippets/types.ts'
import { caughtUpKey, type ListReader, NOT_CAUGHT_UP, type View, type ViewOperation, type ViewReader, viewTag } from '../view.ts'

/**
 * Snippets by id, and the lists that contain them. Fed by `snippet-decisions` and partitioned like it. The partition
 * also holds results of commands: see results.ts. All snippets of a user are in one partition, so that the user's
 * lists change atomically with the snippets.
 *
 * | key | value |
 * |---|---|
 * | `{snippets:<p>}:snippet:<id>` | JSON of a StoredSnippet; no key means that it has expired or was deleted |
 * | `{snippets:<p>}:public` | sorted set: ids of public snippets by creation time |
 * | `{snippets:<p>}:user:<user_id>:<scope>:<order>` | sorted set: a user's snippets (scopes and orders below) |
 * | `{snippets:<p>}:versions:<id>` | sorted set: later versions of this first version by creation time |
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

export const snippetsView: View<string, Snippet> = { name: SNIPPETS_VIEW, operationsFor }

function operationsFor(partition: number, id: string, snippet: Snippet | null): ViewOperation[] {
  const key = snippetKey(partition, id)
  if (snippet === null) return [{ op: 'del', key }]
  const isGone = snippet.is_deleted || snippet.is_expired
  const own: ViewOperation = isGone ? { op: 'del', key } : { op: 'set', key, value: JSON.stringify(snippetRecord(snippet)) }
  const places = placesOf(partition, snippet)
  return [own, ...places.map(({ list, score, member }) => listOperation(isGone, list, score, member))]
}

function listOperation(isGone: boolean, key: string, score: number, member: string): ViewOperation {
  return isGone ? { op: 'zrem', key, member } : { op: 'zadd', key, score, member }
}

interface Place {
  readonly list: string
  readonly score: number
  readonly member: string
}

/** Returns the lists that contain the snippet, with its score and member in each. */
function placesOf(partition: number, snippet: Snippet): Place[] {
  const { paste_id: id, user_id, visibility, created_at, view_count, title, root, reads_left } = snippet
  const places: Place[] = []
  // Snippets with limited reads are not listed, because strangers could use up their reads.
  const isListed = visibility === 'public' && reads_left === null
  if (isListed) places.push({ list: publicKey(partition), score: created_at, member: id })
  if (root !== null) places.push({ list: versionsKey(partition, root), score: created_at, member: id })
  if (user_id === null) return places
  for (const scope of SCOPES) {
    if (scope === 'public' && !isListed) continue
    const list = (order: SnippetOrder) => userKey(partition, String(user_id), scope, order)
    places.push({ list: list('created'), score: created_at, member: id })
    places.push({ list: list('views'), score: view_count, member: id })
    places.push({ list: list('title'), score: 0, member: titleMember(title, id) })
  }
  return places
}

/** Returns a member that sorts by title regardless of case, puts untitled snippets last and ends with the id. */
function titleMember(title: string | null, id: string): string {
  if (title === null) return `1${TITLE_END}${id}`
  const folded = [...title.normalize('NFKC').toLowerCase()].slice(0, TITLE_KEY_CHARACTERS).join('')
  return `0${folded}${TITLE_END}${id}`
}

export function snippetRecord(snippet: Snippet | ReadSnippet): SnippetRecord {
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

/** Reads a snippet. A missing key counts as absent only when the view has caught up. */
export async function readSnippet(
  reader: ViewReader,
  partition: number,
  id: string,
): Promise<SnippetRecord | undefined | typeof NOT_CAUGHT_UP> {
  const text = await reader.get(snippetKey(partition, id))
  if (text !== null) return JSON.parse(text) as SnippetRecord
  return (await reader.get(caughtUpKey(SNIPPETS_VIEW, partition))) === null ? NOT_CAUGHT_UP : undefined
}

/** Returns the given snippets that exist, in the given order. */
export async function readSnippets(
  reader: ViewReader,
  placed: readonly (readonly [partition: number, id: string])[],
): Promise<SnippetRecord[]> {
  const texts = await Promise.all(placed.map(([partition, id]) => reader.get(snippetKey(partition, id))))
  return texts.flatMap((text) => (text === null ? [] : [JSON.parse(text) as SnippetRecord]))
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
  return {
    total,
    snippets: await readSnippets(
      reader,
      ids.map((id) => [partition, id]),
    ),
  }
}

/** Returns the newest public snippets of all partitions. The cost grows with `from`, so callers must limit it. */
export async function readNewest(
  reader: ViewReader & ListReader,
  partitions: number,
  from: number,
  count: number,
): Promise<SnippetPage | typeof NOT_CAUGHT_UP> {
  const numbers = Array.from({ length: partitions }, (_, partition) => partition)
  const lists = await Promise.all(
    numbers.map(async (partition) => {
      const key = publicKey(partition)
      const [total, ids, caughtUp] = await Promise.all([
        reader.zcard(key),
        reader.zrevrange(key, 0, from + count - 1),
        reader.get(caughtUpKey(SNIPPETS_VIEW, partition)),
      ])
      return { total, placed: ids.map((id) => [partition, id] as const), isCaughtUp: caughtUp !== null }
    }),
  )
  if (lists.some(({ isCaughtUp }) => !isCaughtUp)) return NOT_CAUGHT_UP
  const snippets = await readSnippets(
    reader,
    lists.flatMap(({ placed }) => placed),
  )
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  return { total, snippets: snippets.sort((a, b) => b.createdAt - a.createdAt || compare(a.id, b.id)).slice(from, from + count) }
}

/** Maximum number of versions that a read of a snippet includes. If there are more, only the newest are returned. */
export const MAX_VERSIONS = 100

/** Returns the newest MAX_VERSIONS later versions of a first version, oldest first. */
export async function readVersions(reader: ViewReader & ListReader, partition: number, root: string): Promise<SnippetRecord[]> {
  const ids = await reader.zrevrange(versionsKey(partition, root), 0, MAX_VERSIONS - 1)
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

function publicKey(partition: number): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:public`
}

function userKey(partition: number, user: string, scope: SnippetScope, order: SnippetOrder): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:user:${user}:${scope}:${order}`
}

function versionsKey(partition: number, root: string): string {
  return `${viewTag(SNIPPETS_VIEW, partition)}:versions:${root}`
}
