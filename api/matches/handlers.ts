import { matchIndex } from '../../schemas/matches/topics.ts'
import { MATCH_INDEX_VIEW } from '../../state/views/matches/index-cells.ts'
import { MATCH_USERS_VIEW } from '../../state/views/matches/users.ts'
import type { Facts } from '../kit/facts.ts'
import { viewProbe } from '../kit/readiness.ts'
import type { ServiceRoutes } from '../kit/service-routes.ts'
import type { SpoolingFacts } from '../kit/spool/spooling-publisher.ts'
import type { ServiceKit } from '../service.ts'
import { matchesErrors } from './errors.ts'
import { explainRoutes } from './explain.ts'
import { feedRoutes } from './feed.ts'
import { isUuid } from './model.ts'
import { pageRoutes } from './page/page.ts'
import { pairRoutes } from './pairs.ts'
import { people, usersTopic } from './people.ts'
import { profileRoutes } from './profile.ts'
import type { MatchesSettings } from './settings.ts'
import { swipeRoutes } from './swipe.ts'

export type MatchesDeps = Pick<ServiceKit, 'views' | 'scripts' | 'commands' | 'log' | 'now'> & {
  readonly facts: Facts & SpoolingFacts
} & MatchesSettings

/** Creates the handlers of the match feed: docs/services/matches.md */
export function matchesHandlers(kit: MatchesDeps): ServiceRoutes {
  const { views, facts, commands } = kit
  const deps = { ...kit, people: people(kit) }
  return {
    name: 'matches',
    description: 'A feed of candidates nearby, swipes, and matches of two users who like each other.',
    isUserId: isUuid,
    errors: Object.values(matchesErrors),
    probes: [viewProbe(views, facts, MATCH_USERS_VIEW, usersTopic), viewProbe(views, facts, MATCH_INDEX_VIEW, matchIndex), commands.probe],
    routes: [
      ...profileRoutes(deps),
      ...feedRoutes(deps),
      ...explainRoutes(deps),
      ...swipeRoutes(deps),
      ...pairRoutes(deps),
      ...pageRoutes(),
    ],
  }
}
