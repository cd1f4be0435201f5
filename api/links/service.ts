import { clickDetails, clicks, linkCommands, linkDecisions, linkStats, userLinks } from '../../schemas/links/topics.ts'
import type { ApiService } from '../service.ts'
import { type LinksSettings, linksSettings } from './settings.ts'

/** Short links and statistics of their clicks. */
export const linksService: ApiService<LinksSettings> = {
  name: 'links',
  settings: linksSettings,
  topics: [linkCommands, linkDecisions, userLinks, clicks, linkStats, clickDetails],
  limitedPaths: ['/api/v1/*'],
  examples: (api) => [
    {
      what: 'a short link',
      command: `curl -d '{"long_url":"https://example.com/"}' -H 'content-type: application/json' ${api}/api/v1/urls`,
    },
  ],
  local: {
    ports: ['SHORT_PORT'],
    // All processes use the domain of the first process, because a short link does not depend on the process that
    // created it.
    env: ({ SHORT_PORT }) => ({ SHORT_DOMAINS: `localhost:${SHORT_PORT}` }),
  },
  async open(kit, settings) {
    const { openLinks } = await import('./open.ts')
    return await openLinks(kit, settings)
  },
}
