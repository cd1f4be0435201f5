import { LRUCache } from 'lru-cache'
import { type ReadSnippet, snippetFlow } from '../../schemas/snippets/flow.ts'
import { readBurntSnippet, readSnippet, type SnippetRecord } from '../../state/views/snippets/snippets.ts'
import type { ListReader, ViewReader } from '../../state/views/view.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { caughtUp } from '../kit/readiness.ts'
import { OWNER_ONLY, snippetErrors } from './errors.ts'
import { isSnippetId } from './ids.ts'

/**
 * Maximum number of keys without a record in Redis that this process tries for one burnt snippet. Redis keeps the key
 * of every read, so a reader's own key is missing only if Redis was emptied. Without a limit, anyone who has the id of
 * a burnt snippet could cause any number of commands.
 */
export const MOST_UNKNOWN_KEYS = 200
/** Number of burnt snippets whose unknown keys are counted. The counters take about 2 MB. */
const REMEMBERED_SNIPPETS = 10_000

export interface AccessDeps {
  readonly views: ViewReader & ListReader
  readonly facts: Facts
  readonly commands: Commands
  /** Epoch ms. */
  now(): number
}

export function isOwner(snippet: SnippetRecord, caller: Caller | undefined): boolean {
  return snippet.userId !== undefined && snippet.userId === caller?.subject
}

/** Returns the values that identify a read, so that its repetitions are recognised. */
function readRequest(id: string): readonly unknown[] {
  return ['readSnippet', id]
}

/** Decides who may read which snippet, uses up limited reads, and deletes snippets. */
export function snippetAccess({ views, facts, commands, now }: AccessDeps) {
  /** Number of unknown keys that were tried, by the id of the burnt snippet. */
  const unknownKeys = new LRUCache<string, number>({ max: REMEMBERED_SNIPPETS })
  const partitionOf = (id: string) => facts.partitionOf(snippetFlow.commands, id)

  function isAlive(snippet: SnippetRecord): boolean {
    return snippet.expiresAt === undefined || snippet.expiresAt > now()
  }

  /** Finds a snippet that the caller may read. Throws ApiError: `paste_not_found`, `private_paste`, `not_ready`. */
  async function find(id: string, caller: Caller | undefined): Promise<SnippetRecord> {
    const snippet = isSnippetId(id) ? caughtUp(await readSnippet(views, partitionOf(id), id)) : undefined
    if (snippet === undefined || !isAlive(snippet)) throw new ApiError(snippetErrors.paste_not_found)
    if (snippet.visibility === 'private' && !isOwner(snippet, caller)) throw new ApiError(snippetErrors.private_paste)
    return snippet
  }

  /**
   * Finds a snippet as `find` does. Also finds a snippet whose reads are used up, if the request repeats one of these
   * reads with its key. The caller may not have received the first answer. Nobody can read deleted or expired snippets.
   */
  async function findForRead(from: CommandRequest, id: string): Promise<SnippetRecord> {
    try {
      return await find(id, from.caller)
    } catch (error) {
      const isGone = error instanceof ApiError && error.definition === snippetErrors.paste_not_found
      if (!isGone || from.idempotencyKey === undefined || !isSnippetId(id)) throw error
      return await readBefore(from, id)
    }
  }

  async function readBefore(from: CommandRequest, id: string): Promise<SnippetRecord> {
    // The view keeps this record only for a snippet whose reads are used up. If there is no record, no command is sent.
    // Requests for unknown ids therefore stay cheap even if they have a key.
    const burnt = await readBurntSnippet(views, partitionOf(id), id)
    if (burnt === undefined || !isAlive(burnt)) throw new ApiError(snippetErrors.paste_not_found)
    // The check comes before `takeOnce`, which binds the key: a key that is refused must not become a known key.
    if (!(await commands.isRepeated(from, readRequest(id)))) {
      const count = (unknownKeys.get(id) ?? 0) + 1
      if (count > MOST_UNKNOWN_KEYS) throw new ApiError(snippetErrors.paste_not_found)
      unknownKeys.set(id, count)
    }
    await takeOnce(from, id)
    return { ...burnt, readsLeft: 0 }
  }

  /**
   * Uses one read, or none if the request is repeated. Throws ApiError: `paste_not_found`, `private_paste`.
   * @returns the counts after this read
   */
  async function takeOnce(from: CommandRequest, id: string): Promise<ReadSnippet> {
    const open = await commands.open(from, readRequest(id))
    const user_id = from.caller === undefined ? null : BigInt(from.caller.subject)
    const answer = await open.run(snippetFlow, id, { action: 'read', user_id, snippet: null })
    if (answer.outcome === 'read') return answer.snippet
    throw new ApiError(answer.outcome === 'forbidden' ? snippetErrors.private_paste : snippetErrors.paste_not_found)
  }

  /**
   * Uses one of the remaining reads. A repeated request uses no further read. Throws ApiError: `private_paste`, or
   * `paste_not_found`, for example if another reader has used the last read.
   */
  async function takeRead(from: CommandRequest, snippet: SnippetRecord): Promise<SnippetRecord> {
    const { view_count, reads_left } = await takeOnce(from, snippet.id)
    return { ...snippet, views: view_count, readsLeft: reads_left ?? undefined }
  }

  async function remove(from: CommandRequest, id: string): Promise<void> {
    if (!isSnippetId(id)) throw new ApiError(snippetErrors.paste_not_found)
    const open = await commands.open(from, ['deleteSnippet', id])
    const answer = await open.run(snippetFlow, id, { action: 'delete', user_id: BigInt(from.caller!.subject), snippet: null })
    if (answer.outcome === 'not_found' || answer.outcome === 'burnt') throw new ApiError(snippetErrors.paste_not_found)
    if (answer.outcome === 'forbidden') throw new ApiError(errors.forbidden, { message: OWNER_ONLY })
  }

  return { find, findForRead, takeRead, remove, isAlive, partitionOf }
}

export type SnippetAccess = ReturnType<typeof snippetAccess>
