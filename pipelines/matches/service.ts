import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { matchErasure } from './erasure.ts'
import { matchPairs } from './pairs/topology.ts'
import { matchProfiles } from './profiles/topology.ts'
import { matchBulkSinks, matchSinks } from './sinks.ts'
import { matchUsers } from './users/topology.ts'

export const matchesServices: readonly PipelineService[] = [
  { name: 'matches', role: 'deciding', settings: NO_SETTINGS, topologies: () => [matchProfiles, matchPairs], sinks: matchSinks },
  {
    name: 'match-users',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [matchUsers],
    sinks: matchBulkSinks,
    jobs: (context) => [matchErasure(context)],
  },
]
