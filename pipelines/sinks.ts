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
import {
  type AnyTopic,
  createSink,
  type DeliveryTarget,
  type Runner,
  retryTopic,
  type SinkSeat,
  sinkRunner,
  tableTarget,
  viewTarget,
} from './engine/index.ts'

/** The shared resources of sinks. */
export interface SinkContext {
  readonly config: StateSettings & {
    /** Number of this worker process on its machine. */
    readonly slot: number
  }
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
}

/** The shared resources, and those that the sink's own service prepared. */
export interface OwnSinkContext<Resources> extends SinkContext {
  readonly resources: Resources
}

/** Copies topics into a store, or delivers their records. Declaring it opens no connection. */
export interface SinkDeclaration<Resources = unknown> {
  /** Must not change, because it names the dead-letter topic and the consumer group that holds the offsets. */
  readonly name: string
  readonly topics: readonly AnyTopic[]
  /** Topics of the sink itself, which nobody else reads or writes. */
  readonly ownTopics?: readonly AnyTopic[]
  /** Sinks of one store share a group member, so that a store that hangs delays only its own partitions. */
  readonly store: 'redis' | 'clickhouse' | 'http'
  open(context: OwnSinkContext<Resources>, seat: SinkSeat): Runner
}

/**
 * Keeps a view in Redis up to date.
 * @param declared the view, or a function that declares it with the worker's settings
 */
export function viewSink<K, V>(
  name: string,
  declared: View<K, V> | ((config: StateSettings) => View<K, V>),
  topics: readonly AnyTopic[],
): SinkDeclaration {
  function open({ config, transport, registry, runtime }: SinkContext, seat: SinkSeat): Runner {
    const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
    const view = typeof declared === 'function' ? declared(config) : declared
    async function create() {
      const target = viewTarget({ view, topics }, { store: viewStore(redis), runtime })
      return createSink({ name, topics }, { transport, registry, target, seat, runtime })
    }
    return sinkRunner({ name, create, close: async () => redis.disconnect() }, runtime)
  }
  return { name, topics, store: 'redis', open }
}

/** Copies a topic into a table in ClickHouse. */
export function tableSink<K, V>(name: string, table: Table<K, V>, topic: AnyTopic): SinkDeclaration {
  const topics = [topic]
  function open({ config, transport, registry, runtime }: SinkContext, seat: SinkSeat): Runner {
    const client = connectSinkClickhouse(config.clickhouse)
    async function create() {
      const target = await tableTarget({ table }, tableStore(table, client, { cluster: config.clickhouseCluster }))
      return createSink({ name, topics }, { transport, registry, target, seat, runtime })
    }
    return sinkRunner({ name, create, close: () => client.close() }, runtime)
  }
  return { name, topics, store: 'clickhouse', open }
}

/** A receiver of single records, with its connections. */
export interface OpenReceiver {
  readonly target: DeliveryTarget
  close(): Promise<void>
}

/**
 * Delivers each record of a topic, at least once. Failed ones wait in the topic `<name>-retries`.
 * @param connect throws TargetUnavailableError to be called again
 */
export function deliverySink<Resources>(
  name: string,
  topic: AnyTopic,
  connect: (context: OwnSinkContext<Resources>) => Promise<OpenReceiver>,
): SinkDeclaration<Resources> {
  const topics = [topic]
  function open(context: OwnSinkContext<Resources>, seat: SinkSeat): Runner {
    const { transport, registry, runtime } = context
    let receiver: OpenReceiver | undefined
    async function create() {
      receiver = await connect(context)
      return createSink({ name, topics }, { transport, registry, target: receiver.target, seat, runtime })
    }
    return sinkRunner({ name, create, close: async () => receiver?.close() }, runtime)
  }
  return { name, topics, ownTopics: [retryTopic(name, topic)], store: 'http', open }
}
