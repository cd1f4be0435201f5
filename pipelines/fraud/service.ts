import { fraudBlocklistDecisions } from '../../schemas/fraud/blocklist/topics.ts'
import { NO_SETTINGS } from '../../settings/fragment.ts'
import { fraudBlocklistView } from '../../state/views/fraud/blocklist.ts'
import { decisionView } from '../../state/views/results.ts'
import type { PipelineService } from '../service.ts'
import { viewSink } from '../sinks.ts'
import { fraudBlocklistTopology } from './blocklist/topology.ts'
import { fraudCasesTopology } from './cases/topology.ts'
import { fraudProfilesTopology } from './profiles/topology.ts'
import { settingsRecordSinks, settingsSinks } from './settings/sinks.ts'
import { fraudSettingsTopology } from './settings/topology.ts'
import { fraudBulkSinks, fraudCasesSinks } from './sinks.ts'

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
  {
    name: 'fraud-blocklist',
    role: 'deciding',
    settings: NO_SETTINGS,
    topologies: () => [fraudBlocklistTopology],
    sinks: [viewSink('fraud-blocklist-view', decisionView(fraudBlocklistView), [fraudBlocklistDecisions])],
  },
  {
    name: 'fraud-cases',
    role: 'deciding',
    settings: NO_SETTINGS,
    topologies: () => [fraudCasesTopology],
    sinks: fraudCasesSinks,
  },
]
