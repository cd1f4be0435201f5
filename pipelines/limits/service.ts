import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { limitRecordSinks, limitSinks } from './sinks.ts'
import { limits } from './topology.ts'

export const limitsServices: readonly PipelineService[] = [
  { name: 'limits', role: 'deciding', settings: NO_SETTINGS, topologies: () => [limits], sinks: limitSinks },
  { name: 'limit-records', role: 'bulk', settings: NO_SETTINGS, topologies: () => [], sinks: limitRecordSinks },
]
