import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { PipelinesConfig } from './config.ts'
import type { Runner } from './engine/runner.ts'
import type { Topology } from './engine/topology.ts'
import type { EngineLog, MemberIdentity } from './engine/worker-parts.ts'
import { clickSinks } from './links/clicks/sinks.ts'
import { clickTopologies } from './links/clicks/topologies.ts'
import { trendSinks } from './trends/sinks.ts'
import { trends } from './trends/topology.ts'

/** What sinks are made with. */
export interface SinkContext {
  readonly config: PipelinesConfig
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly log: EngineLog
  /** The kept place of the sink of that name in its group. */
  readonly identity: (name: string) => MemberIdentity
}

/** What runs for one service. */
export interface PipelineService {
  readonly name: string
  /** Called when the process starts. @throws Error that says which setting is wrong */
  readonly topologies: (config: PipelinesConfig) => readonly Topology[]
  /** Copies of its topics into Redis and ClickHouse. */
  readonly sinks: (context: SinkContext) => readonly Runner[]
}

/** Every service that `PIPELINES` may name. */
export const pipelineServices: readonly PipelineService[] = [
  { name: 'trends', topologies: () => [trends], sinks: trendSinks },
  { name: 'clicks', topologies: clickTopologies, sinks: clickSinks },
]
