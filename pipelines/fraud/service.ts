import { fraudProfiles } from '../../schemas/fraud/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import { fraudProfilesView } from '../../state/views/fraud/profiles.ts'
import type { PipelineService } from '../service.ts'
import { viewSink } from '../sinks.ts'
import { fraudProfilesTopology } from './profiles/topology.ts'
import { settingsRecordSinks, settingsSinks } from './settings/sinks.ts'
import { fraudSettingsTopology } from './settings/topology.ts'

export const fraudServices: readonly PipelineService[] = [
  {
    name: 'fraud-profiles',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [fraudProfilesTopology],
    sinks: [viewSink('fraud-profiles-view', fraudProfilesView, [fraudProfiles])],
  },
  { name: 'fraud-settings', role: 'deciding', settings: NO_SETTINGS, topologies: () => [fraudSettingsTopology], sinks: settingsSinks },
  { name: 'fraud-records', role: 'bulk', settings: NO_SETTINGS, topologies: () => [], sinks: settingsRecordSinks },
]
