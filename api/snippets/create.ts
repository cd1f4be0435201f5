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
  /** Limits concurrent uploads of long content. */
  readonly incoming: Streams
  readonly commands: Commands
  readonly facts: Facts
  readonly publicUrl: string
}

export interface CreationRequest extends CommandRequest {
  readonly arriving: ArrivingBody | undefined
  /** The query, which contains the options of a plain text body. Such a body contains only the content. */
  readonly query: Readonly<Record<string, unknown>>
}

/** The search indexes this many characters from the beginning of public content. */
const EXCERPT_CHARACTERS = 2_048
/**
 * Maximum number of random ids to try. With a hundred million snippets, the probability that all tried ids are in use
 * is about 10^-25.
 */
const MAX_IDS = 4

/**
 * The snippet that a new version follows. If the snippet is gone, `record` is undefined. The request can then only be a
 * repetition that gets its first answer again.
 */
export interface Predecessor {
  readonly id: string
  readonly record: SnippetRecord | undefined
}

/** Creates snippets. Stores the content in the blob store before it sends the command that refers to the content. */
export function snippetCreation({ blobs, incoming, commands, facts, publicUrl }: CreationDeps) {
  const partitionOf = (id: string) => facts.partitionOf(snippetFlow.commands, id)

  /**
   * Creates a snippet or a new version of a snippet.
   * @param predecessor set for a new version
   */
  async function create(request: CreationRequest, predecessor?: Predecessor): Promise<ReturnType<typeof createdJson>> {
    // Throws `not_ready` if the partition counts are not known yet. Without them, no command can be sent, so nothing
    // should be stored.
    facts.partitionsOf(snippetFlow.commands)
    const taken = await answeringBlobs(() => takeBody({ ...request.arriving!, address: request.address }, { blobs, incoming }))
    try {
      const options = checkedOptions({ ...request.query, ...taken.fields })
      const head = taken.content.head()
      const { hash, bytes } = await answeringBlobs(() => blobs.keep(taken.draft))
      // The request is identified by its input only, and not by derived values, so that a repetition matches even if
      // the predecessor has changed.
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
   * Proposes random ids until one is free. All proposed ids are in the same partition, which depends on the user or,
   * for an anonymous caller, on the command. The partition recognises a repeated command regardless of the proposed id,
   * and answers with the first id.
   * @param snippet the snippet to create; null to get only the answer to an earlier execution of the command
   */
  async function decide(open: OpenCommand, caller: Caller | undefined, snippet: NewSnippet | null): Promise<CreatedSnippet> {
    // All snippets of a user are in one partition, so that a snippet and the user's lists change atomically.
    const home = partitionOf(caller === undefined ? open.id : caller.subject)
    const user_id = caller === undefined ? null : BigInt(caller.subject)
    for (let attempt = 0; attempt < MAX_IDS; attempt++) {
      const id = newSnippetId((candidate) => partitionOf(candidate) === home)
      const answer = await open.run(snippetFlow, id, { action: 'create', user_id, snippet }, attempt === 0 ? undefined : `id-${attempt}`)
      if (answer.outcome === 'created') return answer.snippet
      if (answer.outcome === 'not_found') throw new ApiError(snippetErrors.paste_not_found)
    }
    throw new ApiError(errors.unavailable, { message: 'No free id was found. Try again.' })
  }

  return { create }
}

interface KeptContent {
  /** The beginning of the content, as text. */
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

/**
 * Returns the text that the search indexes. The text is normalised, because the search does not match different
 * encodings of the same character.
 */
function excerptOf(head: string): string {
  // Some characters, such as emoji, consist of two code units.
  const characters = [...head.slice(0, 2 * EXCERPT_CHARACTERS)].slice(0, EXCERPT_CHARACTERS)
  return characters.join('').toWellFormed().normalize('NFC')
}

function usernameOf({ username, subject }: Caller): string {
  return username ?? `user-${subject}`
}
