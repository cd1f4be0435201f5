import { NO_SETTINGS } from '../../settings/fragment.ts'
import type { PipelineService } from '../service.ts'
import { snippetErasure } from './erasure.ts'
import { snippetBulkSinks, snippetSinks } from './sinks.ts'
import { blobSweep } from './sweep.ts'
import { snippets } from './topology.ts'
import { snippetViews } from './view-counts.ts'

export const snippetsServices: readonly PipelineService[] = [
  { name: 'snippets', role: 'deciding', settings: NO_SETTINGS, topologies: () => [snippets], sinks: snippetSinks },
  {
    name: 'snippet-views',
    role: 'bulk',
    settings: NO_SETTINGS,
    topologies: () => [snippetViews],
    sinks: snippetBulkSinks,
    jobs: (context) => [blobSweep(context), snippetErasure(context)],
  },
]
