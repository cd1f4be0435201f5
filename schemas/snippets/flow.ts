import type { CommandFlow } from '../commands/topics.ts'
import { snippetCommands, snippetDecisions } from '../topics.ts'
import type { Snippet, SnippetCommand } from '../types.ts'

/** What was decided about a snippet; times in epoch ms. */
export type SnippetAnswer =
  | { readonly outcome: 'created'; readonly created_at: number; readonly expires_at: number | null }
  /** One read was granted. */
  | { readonly outcome: 'read'; readonly view_count: number; readonly reads_left: number | null }
  | { readonly outcome: 'taken' | 'deleted' | 'not_found' | 'forbidden' }

export const snippetFlow: CommandFlow<SnippetCommand, Snippet, SnippetAnswer> = {
  name: 'snippets',
  commands: snippetCommands,
  decisions: snippetDecisions,
}
