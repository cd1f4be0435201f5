import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { fraudProfilesTopology } from './profiles/topology.ts'
import { fraudBulkSinks } from './sinks.ts'

export const fraudServices: readonly PipelineService[] = [
  {
    name: 'fraud-profiles',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [fraudProfilesTopology],
    sinks: fraudBulkSinks,
  },
]
