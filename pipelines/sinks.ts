import { connectSinkClickhouse } from '../state/tables/connect.ts'
import { tableStore } from '../state/tables/store.ts'
import type { Table } from '../state/tables/table.ts'
import { viewStore } from '../state/views/apply.ts'
import { connectSinkRedis } from '../state/views/connect.ts'
import type { View } from '../state/views/view.ts'
import { type AnyTopic, createSink, type Runner, sinkRunner, tableTarget, viewTarget } from './engine/index.ts'
import type { SinkContext } from './services.ts'

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
    const target = await tableTarget({ table }, tableStore(table, client, { cluster: config.clickhouse.cluster }))
    return createSink({ name, topics: [topic], ...identity(name) }, { transport, registry, target, runtime })
  }
  return sinkRunner({ name, create, close: () => client.close() }, runtime)
}
