import {
  locationUpdates,
  matchIndex,
  matchPairCommands,
  matchPairDecisions,
  matchProfileCommands,
  matchProfiles,
  matchRelations,
  stackRefillRequests,
  swipeEvents,
} from '../../schemas/matches/topics.ts'
import type { ApiService } from '../service.ts'
import { type MatchesSettings, matchesSettings } from './settings.ts'

/** Shows users nearby candidates, and records swipes and matches. */
export const matchesService: ApiService<MatchesSettings> = {
  name: 'matches',
  settings: matchesSettings,
  topics: [
    swipeEvents,
    locationUpdates,
    matchProfileCommands,
    matchProfiles,
    matchRelations,
    matchIndex,
    matchPairCommands,
    matchPairDecisions,
    stackRefillRequests,
  ],
  limitedPaths: [
    '/v1/me',
    '/v1/location',
    '/v1/feed',
    '/v1/feed/*',
    '/v1/swipe',
    '/v1/swipe/*',
    '/v1/likes',
    '/v1/matches',
    '/v1/matches/*',
    '/v1/blocks',
    '/v1/blocks/*',
    '/v1/match/*',
  ],
  examples: (api) => [{ what: 'the match feed', command: `open ${api}/match` }],
  async open(kit, settings) {
    const { matchesHandlers } = await import('./handlers.ts')
    return matchesHandlers({ ...kit, ...settings })
  },
}
