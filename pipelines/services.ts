import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { PipelinesConfig } from './config.ts'
import type { MemberIdentity, Runner, Topology } from './engine/index.ts'
import { limitRecordSinks, limitSinks } from './limits/sinks.ts'
import { limits } from './limits/topology.ts'
import { clickSinks } from './links/clicks/sinks.ts'
import { clickTopologies } from './links/clicks/topologies.ts'
import { linkSinks } from './links/sinks.ts'
import { links } from './links/topology.ts'
import { snippetBulkSinks, snippetSinks } from './snippets/sinks.ts'
import { snippets } from './snippets/topology.ts'
import { snippetViews } from './snippets/view-counts.ts'
import { trendSinks } from './trends/sinks.ts'
import { trends } from './trends/topology.ts'

/** What sinks are made with. */
export interface SinkContext {
  readonly config: PipelinesConfig
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
  /** The kept place of the sink of that name in its group. */
  readonly identity: (name: string) => MemberIdentity
}

/** `deciding`: commands wait for every commit, so that these run in workers of their own; `bulk`: everything else. */
export type WorkerRole = 'bulk' | 'deciding'

/** What runs for one service in workers of one role. */
export interface PipelineService {
  readonly name: string
  /** Called when the process starts. @throws Error that says which setting is wrong */
  readonly topologies: (config: PipelinesConfig) => readonly Topology[]
  readonly role: WorkerRole
  /** Copies of its topics into Redis and ClickHouse. */
  readonly sinks: (context: SinkContext) => readonly Runner[]
}

/** Every service that `PIPELINES` may name. */
export const pipelineServices: readonly PipelineService[] = [
  { name: 'trends', role: 'bulk', topologies: () => [trends], sinks: trendSinks },
  { name: 'links', role: 'deciding', topologies: () => [links], sinks: linkSinks },
  { name: 'clicks', role: 'bulk', topologies: clickTopologies, sinks: clickSinks },
  { name: 'limits', role: 'deciding', topologies: () => [limits], sinks: limitSinks },
  { name: 'limit-records', role: 'bulk', topologies: () => [], sinks: limitRecordSinks },
  { name: 'snippets', role: 'deciding', topologies: () => [snippets], sinks: snippetSinks },
  { name: 'snippet-views', role: 'bulk', topologies: () => [snippetViews], sinks: snippetBulkSinks },
]

/**
 * What workers of a role run.
 * @param names services; empty: all
 */
export function servicesFor(role: WorkerRole | 'all', names: readonly string[]): readonly PipelineService[] {
  const named = pipelineServices.filter(({ name }) => names.length === 0 || names.includes(name))
  return named.filter((service) => role === 'all' || service.role === role)
}
