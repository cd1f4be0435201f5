import type { CommandFlow } from '../commands/topics.ts'
import { snippetCommands, snippetDecisions } from './topics.ts'
import type { Snippet, SnippetCommand } from './types.ts'

/** What was decided about a snippet; times in epoch ms. A repeated command gets the first answer, so that all that its caller is told is in it. */
export type SnippetAnswer =
  | { readonly outcome: 'created'; readonly snippet: CreatedSnippet }
  /** One read was granted: the snippet as it was then. */
  | { readonly outcome: 'read'; readonly snippet: ReadSnippet }
  /** burnt: all its reads were given. */
  | { readonly outcome: 'taken' | 'deleted' | 'not_found' | 'burnt' | 'forbidden' }

export type CreatedSnippet = Pick<Snippet, 'paste_id' | 'created_at' | 'expires_at' | 'visibility' | 'language'>
/** JSON has no 64-bit integers: the owner's id is in decimal. */
export type ReadSnippet = Omit<Snippet, 'user_id' | 'excerpt'> & { readonly user_id: string | null }

export const snippetFlow: CommandFlow<SnippetCommand, Snippet, SnippetAnswer> = {
  name: 'snippets',
  commands: snippetCommands,
  decisions: snippetDecisions,
}
