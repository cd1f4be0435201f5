import { matchIndex, matchPairDecisions, matchProfiles, matchRelations, matchSeen } from '../../schemas/matches/topics.ts'
import { matchIndexView } from '../../state/views/matches/index-cells.ts'
import { matchPairsView } from '../../state/views/matches/pairs.ts'
import { matchUsersView } from '../../state/views/matches/users.ts'
import { type SinkDeclaration, viewSink } from '../sinks.ts'

/** Sinks that a request may wait for. */
export const matchSinks: readonly SinkDeclaration[] = [
  viewSink('match-users-view', matchUsersView, [matchProfiles, matchSeen, matchRelations]),
  viewSink('match-pairs-view', matchPairsView, [matchPairDecisions]),
]

export const matchBulkSinks: readonly SinkDeclaration[] = [viewSink('match-index-view', matchIndexView, [matchIndex])]
