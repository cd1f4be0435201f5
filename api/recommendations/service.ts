import { recommendationsSchemas } from '../../schemas/recommendations/topics.ts'
import type { ApiService } from '../service.ts'
import { type RecommendationsSettings, recommendationsSettings } from './settings.ts'

/** Recommends items to users. */
export const recommendationsService: ApiService<RecommendationsSettings> = {
  name: 'recommendations',
  settings: recommendationsSettings,
  topics: recommendationsSchemas.topics,
  limitedPaths: ['/api/v1/*'],
  examples: (api) => [
    {
      what: 'recommendations',
      command: `curl -s -H "Authorization: Bearer $(npm run --silent token -- --sub 42)" ${api}/api/v1/recommendations`,
    },
    { what: 'how a list is made', command: `open ${api}/recommendations/explain` },
  ],
  async open(kit, settings) {
    const { recommendationsHandlers } = await import('./handlers.ts')
    return recommendationsHandlers(kit, settings)
  },
}
