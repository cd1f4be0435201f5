import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { trendSinks } from './sinks.ts'
import { trends } from './topology.ts'

export const trendsServices: readonly PipelineService[] = [
  { name: 'trends', role: 'bulk', settings: NO_SETTINGS, topologies: () => [trends], sinks: trendSinks },
]
