import { blockedTerms, trendOutput, trendRareVolumes, trendRenewals, trendVolumes, userInterests } from '../../schemas/trends/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { ApiService } from '../service.ts'

/** Describes the service that provides trends by location, their history, and personalized lists. */
export const trendsService: ApiService = {
  name: 'trends',
  settings: NO_SETTINGS,
  topics: [trendOutput, trendRenewals, trendVolumes, trendRareVolumes, userInterests, blockedTerms],
  limitedPaths: ['/trends', '/v1/trends/{term}/history', '/v1/trends/{woeid}/past', '/v1/me/interests'],
  examples: (api) => [
    { what: 'worldwide trends', command: `curl '${api}/v1/trends?woeid=1'` },
    { what: 'New York', command: `curl '${api}/v1/trends?woeid=2459115'` },
    { what: 'the trends page', command: `open ${api}/trends` },
    { what: 'the 551 places', command: `curl '${api}/v1/trends/available'` },
  ],
  async open(kit) {
    const { openTrends } = await import('./open.ts')
    return await openTrends(kit)
  },
}
