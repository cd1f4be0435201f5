import type { PipelinesConfig } from './config.ts'
import type { Runner, Topology } from './engine/index.ts'
import { limitRecordSinks, limitSinks } from './limits/sinks.ts'
import { limits } from './limits/topology.ts'
import { clickSinks } from './links/clicks/sinks.ts'
import { clickTopologies } from './links/clicks/topologies.ts'
import { linkSinks } from './links/sinks.ts'
import { links } from './links/topology.ts'
import type { SinkContext, SinkDeclaration } from './sinks.ts'
import { snippetBulkSinks, snippetSinks } from './snippets/sinks.ts'
import { blobSweep } from './snippets/sweep.ts'
import { snippets } from './snippets/topology.ts'
import { snippetViews } from './snippets/view-counts.ts'
import { trendSinks } from './trends/sinks.ts'
import { trends } from './trends/topology.ts'

/** `deciding`: commands wait for every commit, so that these run in workers of their own; `bulk`: everything else. */
export type WorkerRole = 'bulk' | 'deciding'

/** What runs for one service in workers of one role. */
export interface PipelineService {
  readonly name: string
  /** Called when the process starts. @throws Error that says which setting is wrong */
  readonly topologies: (config: PipelinesConfig) => readonly Topology[]
  readonly role: WorkerRole
  /** Copies of its topics into Redis and ClickHouse. */
  readonly sinks: readonly SinkDeclaration[]
  /** What else runs beside them. */
  readonly jobs?: (context: SinkContext) => readonly Runner[]
}

/** Every service that `PIPELINES` may name. */
export const pipelineServices: readonly PipelineService[] = [
  { name: 'trends', role: 'bulk', topologies: () => [trends], sinks: trendSinks },
  { name: 'links', role: 'deciding', topologies: () => [links], sinks: linkSinks },
  { name: 'clicks', role: 'bulk', topologies: clickTopologies, sinks: clickSinks },
  { name: 'limits', role: 'deciding', topologies: () => [limits], sinks: limitSinks },
  { name: 'limit-records', role: 'bulk', topologies: () => [], sinks: limitRecordSinks },
  { name: 'snippets', role: 'deciding', topologies: () => [snippets], sinks: snippetSinks },
  {
    name: 'snippet-views',
    role: 'bulk',
    topologies: () => [snippetViews],
    sinks: snippetBulkSinks,
    jobs: (context) => [blobSweep(context)],
  },
]

/**
 * What workers of a role run.
 * @param names services; empty: all
 */
export function servicesFor(role: WorkerRole | 'all', names: readonly string[]): readonly PipelineService[] {
  const named = pipelineServices.filter(({ name }) => names.length === 0 || names.includes(name))
  return named.filter((service) => role === 'all' || service.role === role)
}
