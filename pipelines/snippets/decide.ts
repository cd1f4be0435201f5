import type { CreatedSnippet, ReadSnippet, SnippetAnswer } from '../../schemas/snippets/flow.ts'
import type { NewSnippet, Snippet, SnippetCommand } from '../../schemas/snippets/types.ts'
import type { CommandFacts, Decided } from '../engine/index.ts'

type SnippetDecision = Decided<Snippet, SnippetAnswer>

const NOT_FOUND: SnippetDecision = { answer: { outcome: 'not_found' } }
const BURNT: SnippetDecision = { answer: { outcome: 'burnt' } }
const FORBIDDEN: SnippetDecision = { answer: { outcome: 'forbidden' } }

export function decideSnippet(snippet: Snippet | undefined, command: SnippetCommand, facts: CommandFacts): SnippetDecision {
  switch (command.action) {
    case 'create':
      return create(snippet, command, facts)
    case 'delete':
      return whenAlive(snippet, facts.now, (alive) => remove(alive, command, facts))
    case 'read':
      return whenAlive(snippet, facts.now, (alive) => read(alive, command, facts))
  }
}

/** Creates a snippet. An id is never reused, even after its snippet was deleted. */
function create(snippet: Snippet | undefined, { user_id, snippet: asked }: SnippetCommand, { key, now }: CommandFacts): SnippetDecision {
  // A command without a snippet only asks for the answer to an earlier command. This code runs only if no such answer
  // is stored.
  if (asked === null) return NOT_FOUND
  if (snippet !== undefined) return { answer: { outcome: 'taken' } }
  const { lifetime_ms, ...what }: NewSnippet = asked
  const expires_at = lifetime_ms === null ? null : now + lifetime_ms
  const made: Snippet = {
    ...what,
    paste_id: key,
    user_id,
    created_at: now,
    expires_at,
    view_count: 0,
    is_expired: false,
    is_deleted: false,
    gone_at: null,
  }
  return { answer: { outcome: 'created', snippet: created(made) }, state: made }
}

function created({ paste_id, created_at, expires_at, visibility, language }: Snippet): CreatedSnippet {
  return { paste_id, created_at, expires_at, visibility, language }
}

function whenAlive(snippet: Snippet | undefined, now: number, decide: (alive: Snippet) => SnippetDecision): SnippetDecision {
  if (snippet === undefined || snippet.is_expired) return NOT_FOUND
  if (snippet.expires_at !== null && snippet.expires_at <= now) return NOT_FOUND
  if (snippet.is_deleted) return snippet.reads_left === 0 ? BURNT : NOT_FOUND
  return decide(snippet)
}

/**
 * Marks a snippet as gone. Nobody can read the snippet any longer, so data about it must not be kept. Removes its
 * author, title and excerpt, the hash of its content, and the ids of other versions.
 */
export function gone(snippet: Snippet, how: { readonly is_deleted?: true; readonly is_expired?: true }, now: number): Snippet {
  const erased = { user_id: null, username: null, title: null, content_hash: '', predecessor: null, root: null, excerpt: '' }
  return { ...snippet, ...erased, ...how, gone_at: snippet.gone_at ?? now }
}

export function isGone({ is_deleted, is_expired }: Snippet): boolean {
  return is_deleted || is_expired
}

/** Returns whether the caller owns the snippet. Snippets of anonymous callers have no owner. */
function isOwner(snippet: Snippet, command: SnippetCommand): boolean {
  return snippet.user_id !== null && snippet.user_id === command.user_id
}

function remove(snippet: Snippet, command: SnippetCommand, { now }: CommandFacts): SnippetDecision {
  if (!isOwner(snippet, command)) return FORBIDDEN
  return { answer: { outcome: 'deleted' }, state: gone(snippet, { is_deleted: true }, now) }
}

/** Counts a read and, if reads are limited, uses one of the remaining reads. The last one deletes the snippet. */
function read(snippet: Snippet, command: SnippetCommand, { now }: CommandFacts): SnippetDecision {
  if (snippet.visibility === 'private' && !isOwner(snippet, command)) return FORBIDDEN
  const view_count = snippet.view_count + 1
  const reads_left = snippet.reads_left === null ? null : snippet.reads_left - 1
  const after: Snippet = { ...snippet, view_count, reads_left }
  const counts: ReadSnippet = { paste_id: snippet.paste_id, view_count, reads_left }
  return { answer: { outcome: 'read', snippet: counts }, state: reads_left === 0 ? gone(after, { is_deleted: true }, now) : after }
}
