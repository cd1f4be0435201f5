import { normalised } from '../../schemas/normalised.ts'
import { snippetFlow } from '../../schemas/snippets/flow.ts'
import { snippetTexts } from '../../schemas/snippets/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { MOST_FOUND, searchSnippets, snippetsTable } from '../../state/tables/snippets/snippets.ts'
import {
  readNewest,
  readSnippets,
  readUserSnippets,
  type SnippetOrder,
  type SnippetPage,
  type SnippetRecord,
} from '../../state/views/snippets/snippets.ts'
import type { ListReader, ScoreReader, ViewReader } from '../../state/views/view.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import type { Caller } from '../kit/auth/verify.ts'
import { ApiError, errors, invalidRequest } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp } from '../kit/readiness.ts'
import type { SnippetAccess } from './access.ts'
import { listedJson } from './json.ts'

export const SORTS = {
  created_at_desc: { order: 'created', descending: true },
  created_at_asc: { order: 'created', descending: false },
  views_desc: { order: 'views', descending: true },
  title_asc: { order: 'title', descending: false },
} as const satisfies Record<string, { readonly order: SnippetOrder; readonly descending: boolean }>
export type Sort = keyof typeof SORTS

/**
 * Maximum number of public snippets that can be listed, with or without a search. Without a search, the limit applies
 * to all partitions together. The lists of users are not limited.
 */
export const MAX_LISTED = MOST_FOUND
/** Maximum number of different words in a search. ClickHouse matches each word separately. */
export const MAX_WORDS = 8
/** Retry-After while the search table is being filled. */
const RETRY_AFTER_SECONDS = 5

export interface ListDeps {
  readonly access: SnippetAccess
  readonly views: ViewReader & ListReader & ScoreReader
  readonly tables: TableReader
  readonly facts: Facts
  /** Epoch ms. */
  now(): number
}

export interface Paging {
  readonly page: number
  readonly limit: number
}

export function snippetLists({ access, views, tables, facts, now }: ListDeps) {
  function answer({ total, snippets }: SnippetPage, { page, limit }: Paging): Answer {
    // Expired snippets remain in the view until a tick of the topology removes them.
    const pastes = snippets.filter(access.isAlive).map(listedJson)
    return jsonAnswer(200, { pastes, total, page, limit }, PRIVATE)
  }

  async function ofUser(user: string, caller: Caller | undefined, sort: Sort, paging: Paging): Promise<Answer> {
    const scope = caller?.subject === user ? 'all' : 'public'
    const from = (paging.page - 1) * paging.limit
    const query = { user, scope, ...SORTS[sort], from, count: paging.limit } as const
    const found = caughtUp(await readUserSnippets(views, access.partitionOf(user), query))
    return answer(found, paging)
  }

  /**
   * Returns the range of snippets on a page. The last page may have fewer snippets than `limit`. Throws
   * `invalid_request` if the page is beyond the limit of the list.
   */
  function rangeOf({ page, limit }: Paging): { readonly from: number; readonly count: number } {
    const from = (page - 1) * limit
    if (from < MAX_LISTED) return { from, count: Math.min(limit, MAX_LISTED - from) }
    throw invalidRequest('query.page', `only the newest ${MAX_LISTED} can be listed; search with other words or request an earlier page`)
  }

  async function newest(paging: Paging): Promise<Answer> {
    const { from, count } = rangeOf(paging)
    const found = caughtUp(await readNewest(views, facts.partitionsOf(snippetFlow.decisions), from, count))
    return answer({ ...found, total: Math.min(found.total, MAX_LISTED) }, paging)
  }

  /**
   * Searches public snippets. Without words, lists the newest ones. ClickHouse finds the snippets, and the view
   * provides their current state. Snippets that are missing from the view have been deleted and are left out, so the
   * view must have caught up. The total still counts deleted snippets on other pages, because only the snippets on this
   * page are looked up in the view.
   */
  async function search(text: string, paging: Paging): Promise<Answer> {
    const words = wordsOf(text)
    if (words.length === 0) return await newest(paging)
    const found = await searchSnippets(tables, { words, ...rangeOf(paging), now: now() })
    await mustBeWhole()
    const placed = found.ids.map((id) => [access.partitionOf(id), id] as const)
    const snippets = caughtUp(await readSnippets(views, placed))
    const listed = snippets.filter((snippet) => isListed(snippet) && access.isAlive(snippet))
    const hidden = found.ids.length - listed.length
    return answer({ total: Math.max(0, found.total - hidden), snippets: listed }, paging)
  }

  /**
   * Throws `not_ready` while the search index is being filled. The check runs after the search, so that it also detects
   * a table that was recreated during the search.
   */
  async function mustBeWhole(): Promise<void> {
    const [caughtUp] = await caughtUpPartitions(tables, snippetsTable.name)
    if (caughtUp >= facts.partitionsOf(snippetTexts)) return
    const message = 'The search index is still being built. Try again shortly.'
    throw new ApiError(errors.not_ready, { message, retryAfter: RETRY_AFTER_SECONDS })
  }

  return { ofUser, newest, search }
}

/**
 * Returns whether the search may show a snippet. It shows no snippets with limited reads, because strangers could use
 * up the reads.
 */
function isListed({ visibility, readsLeft }: SnippetRecord): boolean {
  return visibility === 'public' && readsLeft === undefined
}

/**
 * Returns the words of a search, normalised like the titles and texts in the table. Throws `invalid_request` for too
 * many words.
 */
function wordsOf(text: string): string[] {
  const all = normalised(text).toLowerCase().split(/\s+/)
  const words = [...new Set(all.filter((word) => word !== ''))]
  if (words.length <= MAX_WORDS) return words
  throw invalidRequest('query.q', `must have at most ${MAX_WORDS} words`)
}
