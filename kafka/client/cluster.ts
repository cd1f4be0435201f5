import { TransportError } from '../transport.ts'
import { checkBrokerVersion } from './broker-version.ts'
import { ask, type Broker, openConnections } from './connections.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed } from './errors.ts'
import type { Context } from './options.ts'
import { type Connection, findCoordinatorV4, metadataV12 } from './protocol.ts'
import { backoff } from './retry.ts'

export interface Leader {
  readonly nodeId: number
  readonly broker: Broker
  readonly epoch: number
}

interface KnownTopic {
  readonly id: string
  /** The leader of each partition, by partition number; undefined while the partition has none. */
  readonly leaders: readonly (Leader | undefined)[]
}

/** A request for metadata and the topics for which it asks. */
interface Refresh {
  readonly done: Promise<void>
  readonly covers: Set<string>
}

export type CoordinatorKind = 'group' | 'transaction'
const COORDINATOR_KEY_TYPES = { group: 0, transaction: 1 } as const

/** Pause between refreshes while a partition has no leader. More frequent refreshes would only load the brokers. */
const REFRESH_PAUSE_MS = 50
/** Interval of refreshes that detect leader changes without an error (Kafka's metadata.max.age.ms). */
const METADATA_MAX_AGE_MS = 300_000

/**
 * The cluster's metadata: brokers, leaders, topic ids and coordinators. It remembers all requested topics and refreshes
 * all of them every five minutes. All other refreshes cover only the topics that a caller names, so that the broker
 * does not have to describe hundreds of topics when a caller looks up one of them.
 */
export interface Cluster {
  connect(): Promise<void>
  /**
   * Version of transactions that the cluster had enabled at the time of `connect`. A later change of that version does
   * not matter, because brokers follow the version of each request.
   */
  transactionVersion(): number
  /**
   * Returns a connection to any broker that responds. Many callers share the connection, so their requests must be
   * short.
   */
  anyBroker(): Promise<Connection>
  /** Returns the brokers of the last metadata response. */
  brokers(): readonly Broker[]
  /** Returns the shared connection to one broker, for short requests only. */
  connectionTo(broker: Broker): Promise<Connection>
  leader(topic: string, partition: number): Leader | undefined
  topicId(topic: string): string | undefined
  topicName(id: string): string | undefined
  /** Returns the partition count; undefined for a topic that the last refresh did not find. */
  partitionCount(topic: string): number | undefined
  /** Refreshes these topics. Calls that are made while another request is in flight share the next request. */
  refresh(topics: readonly string[]): Promise<void>
  /** Finds the coordinator, and waits while one is being elected. @throws Disconnected when no broker answers */
  findCoordinator(kind: CoordinatorKind, key: string, signal?: AbortSignal): Promise<Broker>
  close(): Promise<void>
}

export function openCluster(context: Context): Cluster {
  const { options, runtime } = context
  const { log } = runtime
  const connections = openConnections(context)
  const bootstrap = options.brokers.map(parseBroker)
  const known = new Set<string>()
  const topics = new Map<string, KnownTopic>()
  const namesById = new Map<string, string>()
  let brokers: readonly Broker[] = []
  let transactionVersion = 0
  let refreshing: Refresh | undefined
  /** The next metadata request, which collects topics while another request is in flight. */
  let waiting: Refresh | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY
  let refreshFailedAt = Number.NEGATIVE_INFINITY

  async function anyBroker(): Promise<Connection> {
    const errors: Error[] = []
    for (const broker of [...brokers, ...bootstrap]) {
      try {
        return await connections.get(broker)
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error
        errors.push(error as Error)
      }
    }
    throw new Disconnected(`none of the brokers ${options.brokers.join(', ')} can be reached: ${errors[0].message}`, errors[0])
  }

  async function connect(): Promise<void> {
    try {
      transactionVersion = await checkBrokerVersion(await anyBroker())
      await load([])
    } catch (error) {
      if (error instanceof Disconnected) {
        throw new TransportError('BROKERS_UNREACHABLE', `${error.message}; is Kafka running, and are the addresses right?`, {
          fatal: false,
          cause: error,
        })
      }
      throw error
    }
  }

  async function load(wanted: string[]): Promise<void> {
    const isWhole = wanted.length === known.size
    const connection = await anyBroker()
    const answer = await ask(connection, metadataV12.api, wanted, false, false)
    const byNode = new Map<number, Broker>()
    for (const { nodeId, host, port } of answer.brokers) byNode.set(nodeId, { host, port })
    if (byNode.size > 0) brokers = [...byNode.values()]
    for (const topic of answer.topics) {
      const name = topic.name as string
      if (topic.errorCode !== 0 && topic.partitions.length === 0) {
        const reason = errorName(topic.errorCode)
        if (reason !== 'UNKNOWN_TOPIC_OR_PARTITION' && reason !== 'LEADER_NOT_AVAILABLE') throw fatal(reason, `metadata of topic ${name}`)
        topics.delete(name)
        continue
      }
      const leaders: (Leader | undefined)[] = []
      for (const { partitionIndex, leaderId, leaderEpoch } of topic.partitions) {
        const broker = byNode.get(leaderId)
        leaders[partitionIndex] = broker && { nodeId: leaderId, broker, epoch: leaderEpoch }
      }
      topics.set(name, { id: topic.topicId, leaders })
      namesById.set(topic.topicId, name)
    }
    if (isWhole) refreshedAt = runtime.monotonic()
  }

  async function refresh(wanted: readonly string[]): Promise<void> {
    for (const topic of wanted) known.add(topic)
    // The caller can wait for the running request only if that request covers all topics that the caller needs.
    if (refreshing !== undefined && wanted.every((topic) => refreshing?.covers.has(topic))) return refreshing.done
    if (waiting === undefined) {
      const begun = (refreshing?.done ?? Promise.resolve()).catch(() => {}).then(refreshWaiting)
      waiting = { done: begun, covers: new Set() }
    }
    for (const topic of wanted) waiting.covers.add(topic)
    return waiting.done
  }

  function refreshWaiting(): Promise<void> {
    const { covers } = waiting as Refresh
    waiting = undefined
    const done = loadGently([...covers]).finally(() => {
      refreshing = undefined
    })
    refreshing = { done, covers }
    return done
  }

  async function loadGently(wanted: string[]): Promise<void> {
    try {
      await load(wanted)
    } catch (error) {
      if (runtime.monotonic() - refreshFailedAt > METADATA_MAX_AGE_MS / 10) log.warn({ err: error }, 'kafka_metadata_failed')
      refreshFailedAt = runtime.monotonic()
      throw error
    }
  }

  async function findCoordinator(kind: CoordinatorKind, key: string, signal?: AbortSignal): Promise<Broker> {
    const retry = backoff(context, REFRESH_PAUSE_MS)
    for (;;) {
      throwIfClosed(signal)
      const connection = await anyBroker()
      const answer = await ask(connection, findCoordinatorV4.api, COORDINATOR_KEY_TYPES[kind], [key])
      const found = answer.coordinators[0]
      const name = errorName(found.errorCode)
      if (name === 'NONE') return { host: found.host, port: found.port }
      if (classify(name) !== 'stale-coordinator' && classify(name) !== 'passing')
        throw fatal(name, `looking for the ${kind} coordinator of ${key}`, found.errorMessage)
      await retry.wait(signal)
    }
  }

  function leader(topic: string, partition: number): Leader | undefined {
    if (runtime.monotonic() - refreshedAt > METADATA_MAX_AGE_MS && refreshing === undefined && waiting === undefined)
      refresh([...known]).catch(() => {})
    return topics.get(topic)?.leaders[partition]
  }

  return {
    connect,
    transactionVersion: () => transactionVersion,
    anyBroker,
    brokers: () => brokers,
    connectionTo: connections.get,
    leader,
    topicId: (topic) => topics.get(topic)?.id,
    topicName: (id) => namesById.get(id),
    partitionCount: (topic) => topics.get(topic)?.leaders.length,
    refresh,
    findCoordinator,
    close: connections.close,
  }
}

function parseBroker(address: string): Broker {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}
