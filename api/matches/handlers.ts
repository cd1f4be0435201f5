import { matchIndex } from '../../schemas/matches/topics.ts'
import { MATCH_INDEX_VIEW } from '../../state/views/matches/index-cells.ts'
import { MATCH_USERS_VIEW, userKeys } from '../../state/views/matches/users.ts'
import type { Facts } from '../kit/facts.ts'
import { counter } from '../kit/metrics.ts'
import { viewProbe } from '../kit/readiness.ts'
import type { SpoolingFacts } from '../kit/spool/spooling-publisher.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { matchesErrors } from './errors.ts'
import { explainRoutes } from './explain.ts'
import { feedRoutes } from './feed.ts'
import { isUuid } from './model.ts'
import { pageRoutes } from './page/page.ts'
import { pairRoutes } from './pairs.ts'
import { partitionOfCell, partitionOfUser, people, usersTopic } from './people.ts'
import { profileRoutes } from './profile.ts'
import type { MatchesSettings } from './settings.ts'
import { stacks } from './stacks.ts'
import { swipeRoutes } from './swipe.ts'
import { swipeNotes } from './swipe-notes.ts'

export type MatchesDeps = Pick<ServiceKit, 'views' | 'scripts' | 'commands' | 'metrics' | 'log' | 'now'> & {
  readonly facts: Facts & SpoolingFacts
} & MatchesSettings

/** Creates the handlers of the match feed: docs/services/matches.md */
export function matchesHandlers(kit: MatchesDeps): OpenService {
  const { views, scripts, facts, commands, metrics, log, now } = kit
  const notes = swipeNotes({ scripts, facts, log, keysOf: (userId) => userKeys(partitionOfUser(facts, userId), userId) })
  const known = people({ ...kit, notes })
  const builds = { reader: views, scripts, partitionOfCell: (geohash4: string) => partitionOfCell(facts, geohash4), now }
  const dropped = counter(
    metrics.registry,
    'match_places_dropped_total',
    'Locations from feed requests that were dropped, because Kafka did not accept them',
  )
  const onPlaceDropped = () => dropped.inc()
  const deps = { ...kit, onPlaceDropped, notes, people: known, stackFor: stacks(known, builds) }
  return {
    name: 'matches',
    description: 'A feed of nearby candidates, swipes on them, and matches between users who like each other.',
    isUserId: isUuid,
    errors: Object.values(matchesErrors),
    probes: [viewProbe(views, facts, MATCH_USERS_VIEW, usersTopic), viewProbe(views, facts, MATCH_INDEX_VIEW, matchIndex), commands.probe],
    routes: [
      ...profileRoutes(deps),
      ...feedRoutes(deps),
      ...explainRoutes({ ...deps, partitionOfCell: builds.partitionOfCell }),
      ...swipeRoutes(deps),
      ...pairRoutes(deps),
      ...pageRoutes(),
    ],
    async close() {
      notes.close()
    },
  }
}
