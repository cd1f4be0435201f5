import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { StateSettings } from '../state/settings.ts'
import { connectSinkClickhouse } from '../state/tables/connect.ts'
import { tableStore } from '../state/tables/store.ts'
import type { Table } from '../state/tables/table.ts'
import { viewStore } from '../state/views/apply.ts'
import { connectSinkRedis } from '../state/views/connect.ts'
import type { View } from '../state/views/view.ts'
import { type AnyTopic, createSink, type MemberIdentity, type Runner, sinkRunner, tableTarget, viewTarget } from './engine/index.ts'

/** What sinks are made with. */
export interface SinkContext {
  readonly config: StateSettings & {
    /** Number of this worker process on its machine. */
    readonly slot: number
  }
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
  /** The kept place of the sink of that name in its group. */
  readonly identity: (name: string) => MemberIdentity
}

/** Keeps a view in Redis up to date. `name` is its consumer group. */
export function viewSink<K, V>(name: string, view: View<K, V>, topics: readonly AnyTopic[], context: SinkContext): Runner {
  const { config, transport, registry, runtime, identity } = context
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
  async function create() {
    const target = viewTarget({ view, topics }, { store: viewStore(redis), runtime })
    return createSink({ name, topics, ...identity(name) }, { transport, registry, target, runtime })
  }
  return sinkRunner({ name, create, close: async () => redis.disconnect() }, runtime)
}

/** Copies a topic into a table in ClickHouse. `name` is its consumer group. */
export function tableSink<K, V>(name: string, table: Table<K, V>, topic: AnyTopic, context: SinkContext): Runner {
  const { config, transport, registry, runtime, identity } = context
  const client = connectSinkClickhouse(config.clickhouse)
  async function create() {
    const target = await tableTarget({ table }, tableStore(table, client, { cluster: config.clickhouseCluster }))
    return createSink({ name, topics: [topic], ...identity(name) }, { transport, registry, target, runtime })
  }
  return sinkRunner({ name, create, close: () => client.close() }, runtime)
}
