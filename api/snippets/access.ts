import { snippetFlow } from '../../schemas/snippets/flow.ts'
import { readSnippet, type SnippetRecord } from '../../state/views/snippets.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { snippetErrors } from './errors.ts'
import { isSnippetId } from './ids.ts'

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

/** Who may read which snippet. */
export function snippetAccess({ views, facts, commands, now }: AccessDeps) {
  const partitionOf = (id: string) => facts.partitionOf(snippetFlow.commands, id)

  function isAlive(snippet: SnippetRecord): boolean {
    return snippet.expiresAt === undefined || snippet.expiresAt > now()
  }

  /** Throws ApiError: `paste_not_found`, `private_paste`, `not_ready`. */
  async function find(id: string, caller: Caller | undefined): Promise<SnippetRecord> {
    const snippet = isSnippetId(id) ? await readSnippet(views, partitionOf(id), id) : undefined
    if (snippet === NOT_CAUGHT_UP) throw new ApiError(errors.not_ready)
    if (snippet === undefined || !isAlive(snippet)) throw new ApiError(snippetErrors.paste_not_found)
    if (snippet.visibility === 'private' && !isOwner(snippet, caller)) throw new ApiError(snippetErrors.private_paste)
    return snippet
  }

  /** Takes one of the reads that are left. Throws ApiError as `find` does: somebody else may have had the last one. */
  async function takeRead(
    from: CommandRequest,
    { id, userId, visibility }: SnippetRecord,
  ): Promise<{ views: number; readsLeft: number | null }> {
    const open = await commands.open(from, ['readSnippet', id])
    const user_id = from.caller === undefined ? null : BigInt(from.caller.subject)
    const answer = await open.run(snippetFlow, id, { action: 'read', user_id, snippet: null })
    if (answer.outcome === 'read') return { views: answer.view_count, readsLeft: answer.reads_left }
    const isForbidden = answer.outcome === 'forbidden' && visibility === 'private' && userId !== undefined
    throw new ApiError(isForbidden ? snippetErrors.private_paste : snippetErrors.paste_not_found)
  }

  async function remove(from: CommandRequest, id: string): Promise<void> {
    if (!isSnippetId(id)) throw new ApiError(snippetErrors.paste_not_found)
    const open = await commands.open(from, ['deleteSnippet', id])
    const answer = await open.run(snippetFlow, id, { action: 'delete', user_id: BigInt(from.caller!.subject), snippet: null })
    if (answer.outcome === 'not_found') throw new ApiError(snippetErrors.paste_not_found)
    if (answer.outcome === 'forbidden') throw new ApiError(errors.forbidden, { message: 'This snippet belongs to somebody else.' })
  }

  return { find, takeRead, remove, isAlive, partitionOf }
}

export type SnippetAccess = ReturnType<typeof snippetAccess>
