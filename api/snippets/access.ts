import { LRUCache } from 'lru-cache'
import { type ReadSnippet, snippetFlow } from '../../schemas/snippets/flow.ts'
import type { SnippetCommand } from '../../schemas/snippets/types.ts'
import { readBurntSnippet, readSnippet, type SnippetRecord } from '../../state/views/snippets/snippets.ts'
import type { ViewReader } from '../../state/views/view.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { caughtUp } from '../kit/readiness.ts'
import { snippetErrors } from './errors.ts'
import { isSnippetId } from './ids.ts'

/**
 * Maximum number of commands that this process sends about one burnt snippet. Readers repeat a read only if its answer
 * was lost, and only in the 55 minutes after the last read, so this is far more than they need. Without a limit, anyone
 * who knows the id of a burnt snippet could cause any number of commands.
 */
export const MOST_REPETITIONS = 200
/** Number of burnt snippets whose repetitions are counted. The counters take about 2 MB. */
const REMEMBERED_SNIPPETS = 10_000

export interface AccessDeps {
  readonly views: ViewReader
  readonly facts: Facts
  readonly commands: Commands
  /** Epoch ms. */
  now(): number
}

export function isOwner(snippet: SnippetRecord, caller: Caller | undefined): boolean {
  return snippet.userId !== undefined && snippet.userId === caller?.subject
}

/** Decides who may read which snippet. */
export function snippetAccess({ views, facts, commands, now }: AccessDeps) {
  /** Number of commands that repetitions of reads have caused, by the id of the burnt snippet. */
  const repetitions = new LRUCache<string, number>({ max: REMEMBERED_SNIPPETS })
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
   * Finds a snippet as `find` does. Also finds a snippet whose reads are used up, if this request used one of them: a
   * caller who repeats a request with its key may not have received the first answer. Nobody can read deleted or
   * expired snippets.
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
    // The view keeps this record only for a snippet whose reads are used up. Without it, no command is sent, so a key
    // does not make requests for unknown ids costly.
    const burnt = await readBurntSnippet(views, partitionOf(id), id)
    if (burnt === undefined || !isAlive(burnt)) throw new ApiError(snippetErrors.paste_not_found)
    await takeOnce(from, id, () => {
      const count = (repetitions.get(id) ?? 0) + 1
      if (count > MOST_REPETITIONS) throw new ApiError(snippetErrors.paste_not_found)
      repetitions.set(id, count)
    })
    return { ...burnt, readsLeft: 0 }
  }

  /**
   * Uses one read, or none if the request is repeated. Throws ApiError: `paste_not_found`, `private_paste`.
   * @param beforeCommand called before a command is sent; may throw. A repeated request needs no command if Redis still
   * has its answer
   * @returns the counts after this read
   */
  async function takeOnce(from: CommandRequest, id: string, beforeCommand = () => {}): Promise<ReadSnippet> {
    const open = await commands.open(from, ['readSnippet', id])
    const user_id = from.caller === undefined ? null : BigInt(from.caller.subject)
    const answer = await open.run(snippetFlow, id, async (): Promise<SnippetCommand> => {
      beforeCommand()
      return { action: 'read', user_id, snippet: null }
    })
    if (answer.outcome === 'read') return answer.snippet
    throw new ApiError(answer.outcome === 'forbidden' ? snippetErrors.private_paste : snippetErrors.paste_not_found)
  }

  /**
   * Uses one of the remaining reads. A repeated request uses no further read. Throws the same ApiErrors as `find`,
   * because another reader may have used the last read.
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
    if (answer.outcome === 'forbidden') throw new ApiError(errors.forbidden, { message: 'This snippet belongs to another user.' })
  }

  return { find, findForRead, takeRead, remove, isAlive, partitionOf }
}

export type SnippetAccess = ReturnType<typeof snippetAccess>
