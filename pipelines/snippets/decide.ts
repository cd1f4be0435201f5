import type { SnippetAnswer } from '../../schemas/snippets/flow.ts'
import type { NewSnippet, Snippet, SnippetCommand } from '../../schemas/types.ts'
import type { CommandFacts, Decided } from '../engine/commands/decide.ts'

type SnippetDecision = Decided<Snippet, SnippetAnswer>

const NOT_FOUND: SnippetDecision = { answer: { outcome: 'not_found' } }
const FORBIDDEN: SnippetDecision = { answer: { outcome: 'forbidden' } }

/** Everything that is ever decided about one snippet. */
export function decideSnippet(snippet: Snippet | undefined, command: SnippetCommand, facts: CommandFacts): SnippetDecision {
  switch (command.action) {
    case 'create':
      return create(snippet, command, facts)
    case 'delete':
      return whenAlive(snippet, facts.now, (alive) => remove(alive, command))
    case 'read':
      return whenAlive(snippet, facts.now, (alive) => read(alive, command))
  }
}

/** An id is never given twice, whatever became of its snippet. */
function create(snippet: Snippet | undefined, { user_id, snippet: asked }: SnippetCommand, { key, now }: CommandFacts): SnippetDecision {
  if (snippet !== undefined) return { answer: { outcome: 'taken' } }
  const { lifetime_ms, ...what } = asked as NewSnippet
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
  }
  return { answer: { outcome: 'created', created_at: now, expires_at }, state: made }
}

function whenAlive(snippet: Snippet | undefined, now: number, decide: (alive: Snippet) => SnippetDecision): SnippetDecision {
  if (snippet === undefined || snippet.is_deleted || snippet.is_expired) return NOT_FOUND
  return snippet.expires_at !== null && snippet.expires_at <= now ? NOT_FOUND : decide(snippet)
}

/** Snippets of anonymous callers belong to nobody. */
function isOwner(snippet: Snippet, command: SnippetCommand): boolean {
  return snippet.user_id !== null && snippet.user_id === command.user_id
}

function remove(snippet: Snippet, command: SnippetCommand): SnippetDecision {
  if (!isOwner(snippet, command)) return FORBIDDEN
  return { answer: { outcome: 'deleted' }, state: { ...snippet, is_deleted: true } }
}

/** One of the reads that are left is given to whoever asks first; the last one deletes the snippet. */
function read(snippet: Snippet, command: SnippetCommand): SnippetDecision {
  if (snippet.visibility === 'private' && !isOwner(snippet, command)) return FORBIDDEN
  const view_count = snippet.view_count + 1
  const reads_left = snippet.reads_left === null ? null : snippet.reads_left - 1
  return {
    answer: { outcome: 'read', view_count, reads_left },
    state: { ...snippet, view_count, reads_left, is_deleted: reads_left === 0 },
  }
}
