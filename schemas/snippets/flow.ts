import type { CommandFlow } from '../commands/topics.ts'
import { snippetCommands, snippetDecisions } from './topics.ts'
import type { Snippet, SnippetCommand } from './types.ts'

/** The answer to a command about a snippet. Times are in epoch ms. A repeated command gets the first answer again. */
export type SnippetAnswer =
  | { readonly outcome: 'created'; readonly snippet: CreatedSnippet }
  /**
   * One read was granted. The answer contains the counts after the read. All other data is only in the view, because
   * answers are kept longer than the data of a deleted snippet may be kept.
   */
  | { readonly outcome: 'read'; readonly snippet: ReadSnippet }
  /** `burnt` means that no reads are left. */
  | { readonly outcome: 'taken' | 'deleted' | 'not_found' | 'burnt' | 'forbidden' }

export type CreatedSnippet = Pick<Snippet, 'paste_id' | 'created_at' | 'expires_at' | 'visibility' | 'language'>
export type ReadSnippet = Pick<Snippet, 'paste_id' | 'view_count' | 'reads_left'>

export const snippetFlow: CommandFlow<SnippetCommand, Snippet, SnippetAnswer> = {
  name: 'snippets',
  commands: snippetCommands,
  decisions: snippetDecisions,
}
