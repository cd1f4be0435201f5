import {
  locationUpdates,
  matchIndex,
  matchPairCommands,
  matchPairDecisions,
  matchProfileCommands,
  matchProfiles,
  matchRelations,
  swipeEvents,
} from '../../schemas/matches/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { ApiService } from '../service.ts'

/** Candidates nearby, swipes and matches. */
export const matchesService: ApiService = {
  name: 'matches',
  settings: NO_SETTINGS,
  topics: [
    swipeEvents,
    locationUpdates,
    matchProfileCommands,
    matchProfiles,
    matchRelations,
    matchIndex,
    matchPairCommands,
    matchPairDecisions,
  ],
  limitedPaths: ['/v1/*'],
  examples: () => [],
  async open(kit) {
    const { matchesHandlers } = await import('./handlers.ts')
    return matchesHandlers(kit)
  },
}
