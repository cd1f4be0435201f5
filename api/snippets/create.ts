import { type CreatedSnippet, snippetFlow } from '../../schemas/snippets/flow.ts'
import type { NewSnippet } from '../../schemas/snippets/types.ts'
import type { BlobStore } from '../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../state/views/snippets/snippets.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest, Commands, OpenCommand } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import type { ArrivingBody } from '../kit/route.ts'
import { snippetErrors } from './errors.ts'
import { newSnippetId } from './ids.ts'
import { takeBody } from './intake/intake.ts'
import { createdJson } from './json.ts'
import { detectLanguage } from './languages/detect.ts'
import { type CheckedOptions, checkedOptions } from './options.ts'
import { answeringBlobs } from './stored-content.ts'
import type { Streams } from './streams.ts'

export interface CreationDeps {
  readonly blobs: BlobStore
  /** Contents on their way in. */
  readonly incoming: Streams
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

/** The snippet that a new version follows; its record is away when it is gone, and only what was made before can be told. */
export interface Predecessor {
  readonly id: string
  readonly record: SnippetRecord | undefined
}

/** Creates snippets: the content goes to the blob store first, then the command that refers to it. */
export function snippetCreation({ blobs, incoming, commands, facts, publicUrl }: CreationDeps) {
  const partitionOf = (id: string) => facts.partitionOf(snippetFlow.commands, id)

  /** @param predecessor of a new version */
  async function create(request: CreationRequest, predecessor?: Predecessor): Promise<ReturnType<typeof createdJson>> {
    // Asked now: while nothing can be decided, nothing is stored.
    facts.partitionsOf(snippetFlow.commands)
    const taken = await takeBody(request.arriving!, { blobs, incoming })
    try {
      const options = checkedOptions({ ...request.query, ...taken.fields })
      const head = taken.content.head()
      const { hash, bytes } = await answeringBlobs(() => blobs.keep(taken.draft))
      // What was given, and nothing that follows from it: a repetition is the same request whatever has become of the predecessor.
      const open = await commands.open(request, ['createSnippet', predecessor?.id ?? null, options, hash, bytes])
      const isMade = predecessor === undefined || predecessor.record !== undefined
      const snippet = isMade ? newSnippet(request.caller, options, { head, hash, bytes }, predecessor?.record) : null
      const made = await decide(open, request.caller, snippet)
      return createdJson({ ...made, bytes, hash, readsLeft: options.readsLeft, predecessor: predecessor?.id ?? null }, publicUrl)
    } finally {
      await taken.draft.discard()
    }
  }

  /**
   * Ids are random, and lie in a partition that follows from the user or the command: there a repeated command is known, whatever id it
   * comes with, and gets the id of the first time.
   * @param snippet null: none is made; who asks wants to know of the one that was
   */
  async function decide(open: OpenCommand, caller: Caller | undefined, snippet: NewSnippet | null): Promise<CreatedSnippet> {
    // All snippets of a user lie in one partition, so that they and the user's lists change in one step.
    const home = partitionOf(caller === undefined ? open.id : caller.subject)
    const user_id = caller === undefined ? null : BigInt(caller.subject)
    for (let attempt = 0; attempt < MAX_IDS; attempt++) {
      const id = newSnippetId((candidate) => partitionOf(candidate) === home)
      const answer = await open.run(snippetFlow, id, { action: 'create', user_id, snippet }, attempt === 0 ? undefined : `id-${attempt}`)
      if (answer.outcome === 'created') return answer.snippet
      if (answer.outcome === 'not_found') throw new ApiError(snippetErrors.paste_not_found)
    }
    throw new ApiError(errors.unavailable, { message: 'No free id was found: try again.' })
  }

  return { create }
}

interface KeptContent {
  /** Its beginning. */
  readonly head: string
  readonly hash: string
  readonly bytes: number
}

function newSnippet(
  caller: Caller | undefined,
  options: CheckedOptions,
  { head, hash, bytes }: KeptContent,
  predecessor: SnippetRecord | undefined,
): NewSnippet {
  const visibility = options.visibility ?? predecessor?.visibility ?? 'unlisted'
  const isSearched = visibility === 'public' && options.readsLeft === null
  return {
    username: caller === undefined ? null : usernameOf(caller),
    title: options.title ?? predecessor?.title ?? null,
    language: options.language ?? predecessor?.language ?? detectLanguage(head),
    content_size: bytes,
    content_hash: hash,
    visibility,
    lifetime_ms: options.lifetimeMs,
    reads_left: options.readsLeft,
    predecessor: predecessor?.id ?? null,
    root: predecessor === undefined ? null : (predecessor.root ?? predecessor.id),
    excerpt: isSearched ? excerptOf(head) : '',
  }
}

/** The search knows no two spellings of a character. */
function excerptOf(head: string): string {
  return head.slice(0, EXCERPT_CHARACTERS).toWellFormed().normalize('NFC')
}

function usernameOf({ username, subject }: Caller): string {
  return username ?? `user-${subject}`
}
