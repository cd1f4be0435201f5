import type { CommandFlow } from '../commands/topics.ts'
import { snippetCommands, snippetDecisions } from './topics.ts'
import type { Snippet, SnippetCommand } from './types.ts'

/**
 * The answer to a command about a snippet; times in epoch ms. A repeated command gets the first answer again, so the
 * answer contains everything that the caller needs.
 */
export type SnippetAnswer =
  | { readonly outcome: 'created'; readonly snippet: CreatedSnippet }
  /** One read was granted; contains the snippet at that time. */
  | { readonly outcome: 'read'; readonly snippet: ReadSnippet }
  /** `burnt` means that no reads are left. */
  | { readonly outcome: 'taken' | 'deleted' | 'not_found' | 'burnt' | 'forbidden' }

export type CreatedSnippet = Pick<Snippet, 'paste_id' | 'created_at' | 'expires_at' | 'visibility' | 'language'>
/** JSON has no 64-bit integers, so the owner's id is a decimal string. */
export type ReadSnippet = Omit<Snippet, 'user_id' | 'excerpt'> & { readonly user_id: string | null }

export const snippetFlow: CommandFlow<SnippetCommand, Snippet, SnippetAnswer> = {
  name: 'snippets',
  commands: snippetCommands,
  decisions: snippetDecisions,
}
