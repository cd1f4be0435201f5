import {
  matchEvents,
  matchIndex,
  matchPairDecisions,
  matchProfiles,
  matchRelations,
  matchSeen,
  matchSwipes,
} from '../../schemas/matches/topics.ts'
import { matchDeletionsTable } from '../../state/tables/matches/deletions.ts'
import { matchesTable } from '../../state/tables/matches/matches.ts'
import { matchSwipesTable } from '../../state/tables/matches/swipes.ts'
import { matchIndexView } from '../../state/views/matches/index-cells.ts'
import { matchPairsView } from '../../state/views/matches/pairs.ts'
import { matchUsersView } from '../../state/views/matches/users.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'
import { stackRefillSink } from './refill-sink.ts'

/** Sinks that API requests may wait for. */
export const matchSinks: readonly SinkDeclaration[] = [
  viewSink('match-users-view', matchUsersView, [matchProfiles, matchSeen, matchRelations]),
  viewSink('match-pairs-view', matchPairsView, [matchPairDecisions]),
]

/** Sinks that no request waits for. */
export const matchBulkSinks: readonly SinkDeclaration[] = [
  viewSink('match-index-view', matchIndexView, [matchIndex]),
  stackRefillSink,
  tableSink('match-swipes-table', matchSwipesTable, matchSwipes),
  tableSink('matches-table', matchesTable, matchEvents),
  tableSink('match-deletions-table', matchDeletionsTable, matchProfiles),
]
