import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import type { Transport } from '../kafka/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { searchClient } from '../state/indexes/client.ts'
import { indexFamily } from '../state/indexes/family.ts'
import type { Index } from '../state/indexes/search-index.ts'
import type { StateSettings } from '../state/settings.ts'
import { connectSinkClickhouse } from '../state/tables/connect.ts'
import { tableStore } from '../state/tables/store.ts'
import type { AnyTable } from '../state/tables/table.ts'
import { viewStore } from '../state/views/apply.ts'
import { connectSinkRedis } from '../state/views/connect.ts'
import type { View } from '../state/views/view.ts'
import {
  type AnyTopic,
  createSink,
  type DeliveryTarget,
  groupJob,
  indexTarget,
  type JobTurn,
  type Runner,
  retryTopic,
  type SinkSeat,
  searchedIndex,
  sinkRunner,
  type Topic,
  tableTarget,
  viewTarget,
} from './engine/index.ts'
import { keepIndex } from './indexes/keeper.ts'
import type { BuildProgress } from './indexes/progress.ts'

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

/** The shared resources, and the resources that the sink's own service has prepared. */
export interface OwnSinkContext<Resources> extends SinkContext {
  readonly resources: Resources
}

/**
 * Declares a sink. A sink copies topics into an external database, or delivers their records to a receiver. The
 * declaration itself opens no connection.
 */
export interface SinkDeclaration<Resources = unknown> {
  /**
   * The name of the sink. It must not change, because the dead-letter topic and the consumer group with the offsets are
   * named after it.
   */
  readonly name: string
  readonly topics: readonly AnyTopic[]
  /** Topics that only this sink reads and writes. */
  readonly ownTopics?: readonly AnyTopic[]
  /**
   * The external system that the sink uses. Sinks with the same system share a group member. Sinks with different
   * systems do not, so that a system that hangs delays only its own partitions.
   */
  readonly store: 'redis' | 'clickhouse' | 'opensearch' | 'http' | 'blobs'
  open(context: OwnSinkContext<Resources>, seat: SinkSeat): Runner
}

/**
 * Declares a sink that keeps a view in Redis up to date.
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

/** Declares a sink that copies one topic, or several topics with the same record format, into a ClickHouse table. */
export function tableSink<K, V>(name: string, table: AnyTable<K, V>, ...topics: readonly AnyTopic[]): SinkDeclaration {
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

/**
 * Declares a sink that keeps an index of the search server up to date. The sink waits until the service's `indexKeeper`
 * has built the index.
 */
export function indexSink<K, V>(name: string, index: Index<K, V>, topic: Topic<K, V>): SinkDeclaration {
  const topics = [topic]
  function open({ config, transport, registry, runtime }: SinkContext, seat: SinkSeat): Runner {
    const client = searchClient(config.opensearchUrl)
    async function create() {
      const target = indexTarget(index, searchedIndex(index, indexFamily(index, client), client))
      return createSink({ name, topics }, { transport, registry, target, seat, runtime })
    }
    return sinkRunner({ name, create, close: async () => {} }, runtime)
  }
  return { name, topics, store: 'opensearch', open }
}

/** The topics through which an index is rebuilt on request. */
export interface IndexRebuilds<Request, Status> {
  /** Topic for rebuild requests. It has one partition. Its records are keyed by the name of the index. */
  readonly requests: Topic<string, Request>
  /** Compacted topic for progress reports. Its records are keyed by the id of the request. */
  readonly progress: Topic<string, Status>
  requestId(request: Request): string
  isComplete(status: Status): boolean
  /** @param at epoch ms */
  statusOf(progress: BuildProgress, request: Request, at: number): Status
}

/**
 * Declares a job that builds an index on request, and whenever `keepIndex` finds that the index is missing, unusable or
 * outdated. Only one process at a time runs this job.
 */
export function indexKeeper<K, V, Request, Status>(
  name: string,
  index: Index<K, V>,
  topic: Topic<K, V>,
  { requests, progress, requestId, isComplete, statusOf }: IndexRebuilds<Request, Status>,
): SinkDeclaration {
  function open({ config, transport, registry, runtime }: SinkContext, seat: SinkSeat): Runner {
    const client = searchClient(config.opensearchUrl)
    async function report(turn: JobTurn<unknown, unknown>, build: BuildProgress): Promise<void> {
      if (build.requestId === undefined) return
      await turn.publish(progress, build.requestId, statusOf(build, build.request as Request, runtime.now()))
    }
    async function completedIds(turn: JobTurn<unknown, unknown>): Promise<string[]> {
      return (await turn.readAll(progress)).flatMap(([id, status]) => (isComplete(status) ? [id] : []))
    }
    const keeper = {
      index,
      topic,
      client,
      layout: config.opensearchLayout,
      transport,
      registry,
      runtime,
      report,
      completedIds,
      requestId: (value: unknown) => requestId(value as Request),
    }
    const run = (turn: JobTurn<string, Request>) => keepIndex(keeper, turn)
    return groupJob({ name, requests, publishes: [progress], run }, { transport, registry, seat, runtime })
  }
  return { name, topics: [requests], store: 'opensearch', open }
}

/** A receiver of single records, with its open connections. */
export interface OpenReceiver {
  readonly target: DeliveryTarget
  close(): Promise<void>
}

/**
 * Declares a sink that passes each record of a topic to a receiver, at least once. Failed records wait in the topic
 * `<name>-retries`.
 * @param connect opens the receiver; if it throws TargetUnavailableError, it is called again later
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
