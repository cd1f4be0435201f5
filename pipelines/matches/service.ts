import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { matchErasure } from './erasure.ts'
import { matchPairs } from './pairs/topology.ts'
import { matchProfiles } from './profiles/topology.ts'
import { type PushSettings, pushSettings } from './pushes/settings.ts'
import { matchPushes } from './pushes/sink.ts'
import { matchBulkSinks, matchSinks } from './sinks.ts'
import { matchUsers } from './users/topology.ts'

const deciding: PipelineService<PushSettings, PushSettings> = {
  name: 'matches',
  role: 'deciding',
  settings: pushSettings,
  prepare: (settings) => settings,
  topologies: () => [matchProfiles, matchPairs],
  sinks: [...matchSinks, matchPushes],
}

export const matchesServices: readonly PipelineService[] = [
  deciding,
  {
    name: 'match-users',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [matchUsers],
    sinks: matchBulkSinks,
    jobs: (context) => [matchErasure(context)],
  },
]
