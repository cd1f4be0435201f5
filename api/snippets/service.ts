import { snippetCommands, snippetDecisions, snippetReads, snippetTexts } from '../../schemas/snippets/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { ApiService } from '../service.ts'

/** Stores text and code under short ids. */
export const snippetsService: ApiService = {
  name: 'snippets',
  settings: NO_SETTINGS,
  topics: [snippetCommands, snippetDecisions, snippetReads, snippetTexts],
  limitedPaths: ['/api/v1/*', '/p/{paste_id}'],
  examples: (api) => [{ what: 'a snippet', command: `curl -F content=@README.md ${api}/api/v1/pastes` }],
  async open(kit) {
    const { openSnippets } = await import('./open.ts')
    return await openSnippets(kit)
  },
}
