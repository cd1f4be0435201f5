import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { fraudProfilesTopology } from './profiles/topology.ts'
import { fraudBulkSinks } from './sinks.ts'
import { settingsRecordSinks, settingsSinks } from './settings/sinks.ts'
import { fraudSettingsTopology } from './settings/topology.ts'

export const fraudServices: readonly PipelineService[] = [
  {
    name: 'fraud-profiles',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [fraudProfilesTopology],
    sinks: fraudBulkSinks,
  },
  { name: 'fraud-settings', role: 'deciding', settings: NO_SETTINGS, topologies: () => [fraudSettingsTopology], sinks: settingsSinks },
  { name: 'fraud-records', role: 'bulk', settings: NO_SETTINGS, topologies: () => [], sinks: settingsRecordSinks },
]
