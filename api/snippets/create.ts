import { snippetFlow } from '../../schemas/snippets/flow.ts'
import type { NewSnippet } from '../../schemas/types.ts'
import type { BlobStore } from '../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../state/views/snippets.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import type { ArrivingBody } from '../kit/route.ts'
import { newSnippetId } from './ids.ts'
import { takeBody } from './intake/intake.ts'
import { type CreatedFields, createdJson } from './json.ts'
import { detectLanguage } from './languages/detect.ts'
import { checkedOptions } from './options.ts'
import { answeringBlobs } from './stored-content.ts'

export interface CreationDeps {
  readonly blobs: BlobStore
  readonly commands: Commands
  readonly facts: Facts
  readonly publicUrl: string
}

export interface CreationRequest extends CommandRequest {
  readonly arriving: ArrivingBody | undefined
  /** Options that a bare text has no place for. */
  readonly query: Readonly<Record<string, unknown>>
}

/** What the search reads of a public content. */
const EXCERPT_CHARACTERS = 2_048
/** Taken by chance so often in a row: once in 10^30. */
const MAX_IDS = 4

/** Creates snippets: the content goes to the blob store first, then the command that refers to it. */
export function snippetCreation({ blobs, commands, facts, publicUrl }: CreationDeps) {
  const partitionOf = (id: string) => facts.partitionOf(snippetFlow.commands, id)

  /** All snippets of a user lie where the user's id does. */
  function idsFor(caller: Caller | undefined): (id: string) => boolean {
    // Asked now: without Kafka's answer no id can be told to fit.
    const home = caller === undefined ? undefined : partitionOf(caller.subject)
    return (id) => home === undefined || partitionOf(id) === home
  }

  /** @param predecessor the version that the new one follows */
  async function create(request: CreationRequest, predecessor?: SnippetRecord): Promise<ReturnType<typeof createdJson>> {
    const fits = idsFor(request.caller)
    const taken = await takeBody(request.arriving!, blobs)
    try {
      const options = checkedOptions({ ...request.query, ...taken.fields })
      const head = taken.content.head()
      const language = options.language ?? predecessor?.language ?? detectLanguage(head)
      const visibility = options.visibility ?? predecessor?.visibility ?? 'unlisted'
      const isSearched = visibility === 'public' && options.readsLeft === null
      const { hash, bytes } = await answeringBlobs(() => blobs.keep(taken.draft))
      const what: NewSnippet = {
        username: request.caller === undefined ? null : usernameOf(request.caller),
        title: options.title ?? predecessor?.title ?? null,
        language,
        content_size: bytes,
        content_hash: hash,
        visibility,
        lifetime_ms: options.lifetimeMs,
        reads_left: options.readsLeft,
        predecessor: predecessor?.id ?? null,
        root: predecessor === undefined ? null : (predecessor.root ?? predecessor.id),
        excerpt: isSearched ? head.slice(0, EXCERPT_CHARACTERS).toWellFormed() : '',
      }
      const { id, createdAt, expiresAt } = await decide(request, what, fits)
      const made: CreatedFields = {
        id,
        createdAt,
        expiresAt,
        visibility,
        language,
        bytes,
        hash,
        readsLeft: options.readsLeft,
        predecessor: what.predecessor,
      }
      return createdJson(made, publicUrl)
    } finally {
      await taken.draft.discard()
    }
  }

  async function decide(request: CommandRequest, snippet: NewSnippet, fits: (id: string) => boolean) {
    const open = await commands.open(request, ['createSnippet', snippet], newSnippetId(fits))
    const user_id = request.caller === undefined ? null : BigInt(request.caller.subject)
    for (let attempt = 0; attempt < MAX_IDS; attempt++) {
      const id = attempt === 0 ? open.key : newSnippetId(fits, `${open.id}:${open.key}:${attempt}`)
      const step = attempt === 0 ? undefined : `id-${attempt}`
      const answer = await open.run(snippetFlow, id, { action: 'create', user_id, snippet }, step)
      if (answer.outcome === 'created') return { id, createdAt: answer.created_at, expiresAt: answer.expires_at }
    }
    throw new ApiError(errors.unavailable, { message: 'No free id was found: try again.' })
  }

  return { create }
}

function usernameOf({ username, subject }: Caller): string {
  return username ?? `user-${subject}`
}
