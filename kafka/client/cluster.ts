import { partitionKey, TransportError } from '../transport.ts'
import { checkBrokerVersion } from './broker-version.ts'
import { ask, type Broker, openConnections } from './connections.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed, untilClosed } from './errors.ts'
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
  /** The leader of each partition, indexed by partition number; undefined for a partition without a leader. */
  readonly leaders: readonly (Leader | undefined)[]
}

/**
 * For each partition of a topic, the latest leader epoch that the metadata or a call of `sawEpoch` has named. The
 * arrays are indexed by partition number.
 */
interface SeenEpochs {
  /** Undefined until the topic is found for the first time. */
  id: string | undefined
  readonly latest: number[]
  /**
   * Monotonic time (ms) since which every metadata response has named an earlier epoch for the partition, indexed by
   * partition number.
   */
  readonly earlierSince: number[]
}

/** A metadata request and the topics that it covers. */
interface Refresh {
  readonly done: Promise<void>
  readonly covers: Set<string>
}

export type CoordinatorKind = 'group' | 'transaction'
/**
 * Number of refusals in succession after which the metadata counts as outdated. The election of a leader causes fewer
 * refusals, because it takes less than a second.
 */
export const REFUSALS_OF_OUTDATED = 6
const COORDINATOR_KEY_TYPES = { group: 0, transaction: 1 } as const

/** First pause between two lookups of a coordinator. More frequent lookups would only add load to the brokers. */
const COORDINATOR_PAUSE_MS = 50
/**
 * Interval between refreshes that find leader changes even when no request has failed (Kafka's metadata.max.age.ms). It
 * is also how long all brokers must name an earlier leader epoch before the client accepts that epoch.
 */
const METADATA_MAX_AGE_MS = 300_000

/**
 * The cluster's metadata: brokers, leaders, topic ids and coordinators. The cluster remembers all requested topics. A
 * call of `leader` refreshes all of them if the last such refresh was more than five minutes ago. All other refreshes
 * cover only the topics that a caller names, so that the broker does not have to describe hundreds of topics when a
 * caller looks up one of them.
 */
export interface Cluster {
  connect(): Promise<void>
  /**
   * The transaction version (Kafka's feature `transaction.version`) that was enabled in the cluster at the time of
   * `connect`. A later change does not matter, because a broker handles each request according to the version of the
   * request.
   */
  transactionVersion(): number
  /**
   * Sends a request to any broker, and to another one if the first does not answer. All callers share the connections,
   * so the requests must be short. If answers are lost, several brokers may carry out the same request.
   * @throws Disconnected when no broker answers
   */
  askAny<Answer>(request: (connection: Connection) => Promise<Answer>): Promise<Answer>
  /** Returns the brokers of the last metadata response. */
  brokers(): readonly Broker[]
  /** Returns the shared connection to one broker, for short requests only. */
  connectionTo(broker: Broker): Promise<Connection>
  /** Returns the leader; undefined while there is none, or while only a leader of an earlier epoch is known. */
  leader(topic: string, partition: number): Leader | undefined
  /**
   * Records that a partition has had a leader of this epoch. A broker that is cut off from the controller, or has only
   * fallen behind, still names the leaders of earlier epochs. Such a leader lacks the latest records, so its answers
   * would be wrong.
   */
  sawEpoch(topic: string, partition: number, epoch: number): void
  /** Returns the latest leader epoch that the metadata or a call of `sawEpoch` has named. */
  latestEpoch(topic: string, partition: number): number | undefined
  topicId(topic: string): string | undefined
  topicName(id: string): string | undefined
  /** Returns the partition count; undefined for a topic that was never looked up, or not found by the last refresh. */
  partitionCount(topic: string): number | undefined
  /**
   * Makes `askAny` try all other brokers before the one that answered last. Call it when the leaders or coordinators
   * that this broker named keep refusing requests or do not answer, or when its own answer is of no use. The broker may
   * be cut off from the controller.
   */
  distrust(): void
  /**
   * Refreshes the metadata of these topics. A call that is made while a request is in flight waits for that request if
   * it covers all of these topics. Otherwise, such calls share the next request.
   * @throws Disconnected when no broker answers; a fatal TransportError when a broker refuses one of these topics
   */
  refresh(topics: readonly string[]): Promise<void>
  /**
   * Finds the coordinator, and waits up to the request timeout while none is available.
   * @throws Disconnected when no broker answers, or none names a coordinator in time; TransportError with code CLOSED
   * when the signal fires; a fatal TransportError when the request is refused
   */
  findCoordinator(kind: CoordinatorKind, key: string, signal: AbortSignal): Promise<Broker>
  close(): Promise<void>
}

export function openCluster(context: Context): Cluster {
  const { options, runtime } = context
  const { log } = runtime
  const connections = openConnections(context)
  const bootstrap = options.brokers.map(parseBroker)
  const known = new Set<string>()
  const topics = new Map<string, KnownTopic>()
  const seen = new Map<string, SeenEpochs>()
  /** The errors of the topics whose metadata the last answer refused, keyed by topic. */
  const refused = new Map<string, TransportError>()
  /**
   * The brokers to try last: those that did not answer, and those that `distrust` has added because their metadata may
   * be outdated. Maps the address to a sequence number, which increases each time a broker is added. Requests go to all
   * other brokers first, and then to these brokers in the order of their numbers.
   */
  const unreliable = new Map<string, number>()
  let failures = 0
  /** The addresses of brokers that did not answer their last request. */
  const silent = new Set<string>()
  /** The address of the broker that answered last. */
  let answeredBy: string | undefined
  const namesById = new Map<string, string>()
  let brokers: readonly Broker[] = []
  let transactionVersion = 0
  let refreshing: Refresh | undefined
  /** The next metadata request, which collects topics while another request is in flight. */
  let waiting: Refresh | undefined
  let isRefreshingAll = false
  let refreshedAt = Number.NEGATIVE_INFINITY
  let refreshFailedAt = Number.NEGATIVE_INFINITY

  async function askAny<Answer>(request: (connection: Connection) => Promise<Answer>): Promise<Answer> {
    const errors: Error[] = []
    for (const [address, broker] of inOrder()) {
      try {
        const answer = await request(await connections.get(broker))
        unreliable.delete(address)
        silent.delete(address)
        answeredBy = address
        return answer
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error
        unreliable.set(address, ++failures)
        silent.add(address)
        errors.push(error)
      }
    }
    throw new Disconnected(`none of the brokers ${options.brokers.join(', ')} can be reached: ${errors[0].message}`, errors[0])
  }

  /** Returns all known brokers with their addresses, reliable ones first. */
  function inOrder(): [address: string, broker: Broker][] {
    const all = new Map([...brokers, ...bootstrap].map((broker) => [addressOf(broker), broker]))
    const failure = (address: string) => unreliable.get(address) ?? 0
    return [...all].sort(([a], [b]) => failure(a) - failure(b))
  }

  function distrust(): void {
    if (answeredBy !== undefined) unreliable.set(answeredBy, ++failures)
  }

  async function connect(): Promise<void> {
    try {
      transactionVersion = await askAny(checkBrokerVersion)
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
    let outdated: string | undefined
    let isTopicMissing = false
    const answer = await askAny((connection) => ask(connection, metadataV12.api, wanted, false, false))
    const byNode = new Map<number, Broker>()
    for (const { nodeId, host, port } of answer.brokers) byNode.set(nodeId, { host, port })
    if (byNode.size > 0) brokers = [...byNode.values()]
    for (const topic of answer.topics) {
      const name = topic.name as string
      refused.delete(name)
      if (topic.errorCode !== 0 && topic.partitions.length === 0) {
        const reason = errorName(topic.errorCode)
        if (reason === 'UNKNOWN_TOPIC_OR_PARTITION' || reason === 'LEADER_NOT_AVAILABLE') {
          topics.delete(name)
          // If the topic was known before, it was deleted or the broker has fallen behind, so the next request goes to
          // another broker.
          isTopicMissing ||= seen.has(name)
        } else refused.set(name, fatal(reason, `metadata of topic ${name}`))
        continue
      }
      const before = topics.get(name)
      const { latest, earlierSince } = seenOf(name, topic.topicId)
      const leaders: (Leader | undefined)[] = []
      for (const { partitionIndex, leaderId, leaderEpoch } of topic.partitions) {
        const broker = byNode.get(leaderId)
        if (leaderEpoch < (latest[partitionIndex] ?? leaderEpoch)) {
          outdated = partitionKey(name, partitionIndex)
          earlierSince[partitionIndex] ??= runtime.monotonic()
          if (runtime.monotonic() - earlierSince[partitionIndex] < METADATA_MAX_AGE_MS) {
            leaders[partitionIndex] = before?.leaders[partitionIndex]
            continue
          }
          // No broker has named the later epoch for METADATA_MAX_AGE_MS, so that epoch must belong to a deleted topic
          // with the same name.
          log.error({ topic: name, partition: partitionIndex, epoch: latest[partitionIndex] }, 'kafka_leader_epoch_unknown')
        }
        latest[partitionIndex] = leaderEpoch
        delete earlierSince[partitionIndex]
        leaders[partitionIndex] = broker && { nodeId: leaderId, broker, epoch: leaderEpoch }
      }
      topics.set(name, { id: topic.topicId, leaders })
      namesById.set(topic.topicId, name)
    }
    if (isWhole) refreshedAt = runtime.monotonic()
    if (outdated !== undefined) log.warn({ broker: answeredBy, partition: outdated }, 'kafka_metadata_outdated')
    if (outdated !== undefined || isTopicMissing) distrust()
  }

  async function refresh(wanted: readonly string[]): Promise<void> {
    await refreshed(wanted)
    for (const topic of wanted) {
      const refusal = refused.get(topic)
      if (refusal !== undefined) throw refusal
    }
  }

  /** Waits for an answer that covers these topics. */
  async function refreshed(wanted: readonly string[]): Promise<void> {
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

  async function findCoordinator(kind: CoordinatorKind, key: string, signal: AbortSignal): Promise<Broker> {
    const retry = backoff(context, COORDINATOR_PAUSE_MS)
    const deadline = runtime.monotonic() + options.requestTimeoutMs
    for (;;) {
      throwIfClosed(signal)
      const asked = askAny((connection) => ask(connection, findCoordinatorV4.api, COORDINATOR_KEY_TYPES[kind], [key]))
      const answer = await untilClosed(asked, signal)
      const found = answer.coordinators[0]
      const name = errorName(found.errorCode)
      if (name === 'NONE') return { host: found.host, port: found.port }
      if (classify(name) !== 'stale-coordinator' && classify(name) !== 'passing')
        throw fatal(name, `looking for the ${kind} coordinator of ${key}`, found.errorMessage)
      // The broker may be cut off from the controller, so the next request goes to another one.
      distrust()
      if (runtime.monotonic() > deadline) throw new Disconnected(`no broker names the ${kind} coordinator of ${key}: still ${name}`)
      await retry.wait(signal)
    }
  }

  /**
   * Refreshes all topics. Asks the broker that answered last only if no other broker answers. That broker may be a
   * leader that is cut off from the controller: such a leader still names itself, and answers readers as if nothing new
   * had been appended. Before the refresh, this function goes through the other brokers in the usual order, and probes
   * those that did not answer their last request. It stops at the first broker that is likely to answer: one that
   * answered its last request, or one that answers the probe. Brokers that do not answer the probe are asked last,
   * because otherwise all requests would wait for brokers that hang.
   */
  async function refreshAll(): Promise<void> {
    isRefreshingAll = true
    try {
      const hanging: string[] = []
      for (const [address, broker] of inOrder()) {
        if (address === answeredBy) continue
        if (!silent.has(address) || (await answers(broker))) break
        hanging.push(address)
      }
      distrust()
      for (const address of hanging) unreliable.set(address, ++failures)
      await refresh([...known])
    } finally {
      isRefreshingAll = false
    }
  }

  async function answers(broker: Broker): Promise<boolean> {
    try {
      await ask(await connections.get(broker), metadataV12.api, [], false, false)
      return true
    } catch {
      return false
    }
  }

  function leader(topic: string, partition: number): Leader | undefined {
    const isDue = runtime.monotonic() - refreshedAt > METADATA_MAX_AGE_MS
    if (isDue && !isRefreshingAll && refreshing === undefined && waiting === undefined) refreshAll().catch(() => {})
    const found = topics.get(topic)?.leaders[partition]
    return found !== undefined && found.epoch >= (seen.get(topic)?.latest[partition] ?? found.epoch) ? found : undefined
  }

  /** Returns the latest known epochs of a topic. A topic that was deleted and created again begins with new epochs. */
  function seenOf(topic: string, id: string | undefined): SeenEpochs {
    const found = seen.get(topic)
    if (found !== undefined && (id === undefined || found.id === undefined || found.id === id)) {
      found.id ??= id
      return found
    }
    const fresh: SeenEpochs = { id, latest: [], earlierSince: [] }
    seen.set(topic, fresh)
    return fresh
  }

  function sawEpoch(topic: string, partition: number, epoch: number): void {
    const { latest } = seenOf(topic, undefined)
    latest[partition] = Math.max(latest[partition] ?? epoch, epoch)
  }

  return {
    connect,
    transactionVersion: () => transactionVersion,
    askAny,
    brokers: () => brokers,
    connectionTo: connections.get,
    leader,
    sawEpoch,
    latestEpoch: (topic, partition) => seen.get(topic)?.latest[partition],
    distrust,
    topicId: (topic) => topics.get(topic)?.id,
    topicName: (id) => namesById.get(id),
    partitionCount: (topic) => topics.get(topic)?.leaders.length,
    refresh,
    findCoordinator,
    close: connections.close,
  }
}

function addressOf({ host, port }: Broker): string {
  return `${host}:${port}`
}

function parseBroker(address: string): Broker {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}
