import { partitionFor } from '../../kafka/partitioner.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import { openSerdes, type Serdes } from '../../kafka/serdes.ts'
import { type Receipt, type Transport, TransportError } from '../../kafka/transport.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { byteWriter } from '../../schemas/codec.ts'
import type { AnyTopic, Topic } from '../../schemas/topic.ts'
import { ApiError, errors } from './errors.ts'
import { type FactLog, factLog, type KeyedTopic } from './fact-log.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'
import type { Spool } from './spool/spool.ts'
import { type SpoolingFacts, SpoolingPublisher } from './spool/spooling-publisher.ts'

/** Publishes facts to Kafka. */
export interface Facts {
  /**
   * Resolves when every in-sync replica has the record. Facts with the same key are written in the order of the calls.
   * No fact is written twice, even if acknowledgements get lost. Throws ApiError:
   * - `not_ready` until the partition counts and the schemas are known.
   * - `unavailable` if too many records are waiting or no acknowledgement arrives in time. In the latter case, the
   *   record may still have been written.
   * - `internal_error` for a record that Kafka rejects permanently, such as a record that is too large for its topic.
   */
  publish<K, V>(topic: Topic<K, V>, key: K, value: V | null): Promise<void>
  /**
   * Returns the partition of a key. A view has the same partitions as its input topic. Throws ApiError `not_ready` if
   * the partition counts are not known yet.
   */
  partitionOf<K>(topic: KeyedTopic<K>, key: K): number
  /** Returns the number of partitions. Throws the same error as `partitionOf`. */
  partitionsOf(topic: { readonly name: string }): number
}

export interface KafkaFacts extends Facts, SpoolingFacts {
  /** Opens a log for facts that no request waits for. Waits until Kafka and the registry have answered. */
  openLog<K, V>(topic: Topic<K, V>): Promise<FactLog<K, V>>
  readonly probe: ReadinessProbe
  /**
   * Sends spooled records while Kafka accepts them, for at most 2 s, and then stops publishing. Does not close the
   * transport or the spool.
   */
  close(): Promise<void>
}

export interface KafkaFactsOptions {
  readonly transport: Transport
  readonly registry: SchemaRegistry
  /** All topics that the process publishes to, and topics whose partition counts the process needs. */
  readonly topics: readonly AnyTopic[]
  /**
   * Keeps partition counts outside the process. An API process that starts while Kafka is down uses the stored counts,
   * so that it can still read views.
   */
  readonly memory?: PartitionMemory
  /** How often partition counts are stored again, in case they were deleted. Default 10 s. */
  readonly rememberEveryMs?: number
  /** Keeps records in files until Kafka has accepted them. If undefined, `publishOrSpool` fails. */
  readonly spool?: Spool
  readonly log: Logger
}

export interface PartitionMemory {
  /** Returns the stored counts; null if nothing is stored. */
  load(): Promise<string | null>
  save(text: string): Promise<void>
}

/** Time limit for an acknowledgement. For a waiting caller, a 503 that can be retried is better than a long wait. */
const PUBLISH_TIMEOUT_MS = 5_000
/** Time after which the Kafka client abandons a request and closes its connection. */
const REQUEST_TIMEOUT_MS = 4_000
/**
 * Maximum amount of unacknowledged data of `publish`. When this amount is reached, callers get a 503 immediately
 * instead of waiting for a long time.
 */
const MAX_ACKNOWLEDGED_BYTES = 16 * 1_048_576
/**
 * Minimum time between two produce requests for buffered facts. No caller waits for these facts, so the delay does no
 * harm. 20 requests a second cost little.
 */
const BUFFERED_SPACING_MS = 50
/** Maximum amount of unacknowledged data across all buffers. Each buffer has a smaller capacity of its own. */
const MAX_BUFFERED_BYTES = 128 * 1_048_576
/**
 * Minimum time between two produce requests for facts that are always spooled. No caller waits for these facts, and
 * every request wakes the broker and all consumers.
 */
const SPOOLED_SPACING_MS = 100
/**
 * Minimum time between two produce requests for facts that are spooled only if Kafka is late. The interval is short,
 * because callers wait for these facts. Without an interval, 1,000 facts a second would cause 1,000 requests. These
 * requests would take a fifth of a core on the broker, and all callers would wait longer.
 */
const SPOOLABLE_SPACING_MS = 4
/**
 * Maximum amount of unacknowledged data in each of the two publishers for facts that can be spooled. A quarter of this
 * amount may come from the spool itself.
 */
const MAX_SPOOLABLE_BYTES = 16 * 1_048_576
/** How long a stopping process continues to send spooled records. The next process sends the remaining records. */
const DRAIN_TIMEOUT_MS = 2_000
const DRAIN_LOOK_MS = 20
const REMEMBER_EVERY_MS = 10_000
/** Pause between attempts to reach Kafka and the registry after the start. */
const START_RETRY_MS = 1_000

/**
 * Creates the publishers of facts. In the background, asks Kafka for the partition counts and the registry for the
 * schemas, and retries until both have answered.
 */
export function kafkaFacts(options: KafkaFactsOptions): KafkaFacts {
  const { transport } = options
  const runtime = systemRuntime(options.log)
  // A caller waits for each of these facts, so the publisher sends them at once instead of collecting more facts first.
  const acknowledged = transport.publisher({
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    maxPendingBytes: MAX_ACKNOWLEDGED_BYTES,
  })
  // Buffered facts have a separate publisher, so that they do not delay facts that a request waits for.
  const buffered = transport.publisher({
    spacingMs: BUFFERED_SPACING_MS,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    maxPendingBytes: MAX_BUFFERED_BYTES,
  })
  // Records in these publishers have no deadline, because even a late acknowledgement is useful.
  const limits = { requestTimeoutMs: REQUEST_TIMEOUT_MS, maxPendingBytes: MAX_SPOOLABLE_BYTES }
  const spoolable = transport.publisher({ ...limits, spacingMs: SPOOLABLE_SPACING_MS })
  const spooled = transport.publisher({ ...limits, spacingMs: SPOOLED_SPACING_MS })
  const encoder = byteWriter()
  const logs = new Map<AnyTopic, FactLog<never, never>>()
  const stopping = new AbortController()
  let partitions: ReadonlyMap<string, number> | undefined
  /** Whether Kafka has reported the partition counts. Until then, the stored counts may be in use. */
  let asked = false
  let serdes: Serdes | undefined
  let missing = 'Kafka or the schema registry has not answered yet'
  const known = new Set(options.topics.map(({ name }) => name))
  const spooling =
    options.spool &&
    new SpoolingPublisher({
      publisher: spoolable,
      background: spooled,
      spool: options.spool,
      registry: options.registry,
      runtime,
      codecOf: (topic) => (known.has(topic.name) ? serdes?.codecFor(topic) : undefined),
      // A stored count may be outdated. Views can be read with it, but a record could get into the wrong partition.
      partitionsOf: (topic) => (asked ? partitions?.get(topic) : undefined),
      askPartitions: async (topic) => (await askPartitions([topic])).get(topic),
    })
  const started = Promise.all([start(), recall()])

  /** Queries Kafka and the schema registry concurrently, so that facts can be encoded as soon as Kafka accepts them. */
  async function start(): Promise<void> {
    await Promise.all([untilDone(learnPartitions), untilDone(learnSchemas)])
    if (!stopping.signal.aborted) options.log.info({ topics: Object.fromEntries(partitions ?? []) }, 'kafka_ready')
  }

  async function learnPartitions(): Promise<void> {
    const names = options.topics.map((topic) => topic.name)
    const counts = await askPartitions(names)
    const absent = names.filter((name) => !counts.has(name))
    if (absent.length > 0) throw new Error(`no such topic: ${absent.join(', ')}`)
    partitions = counts
    asked = true
    // If a count has changed, `partitionOf` and the logs that were opened with the stored counts would choose different
    // partitions.
    logs.clear()
    await remember(partitions)
    void keepRemembered(partitions)
  }

  async function keepRemembered(counts: ReadonlyMap<string, number>): Promise<void> {
    while (options.memory !== undefined && !stopping.signal.aborted) {
      await runtime.sleep(options.rememberEveryMs ?? REMEMBER_EVERY_MS, stopping.signal)
      if (!stopping.signal.aborted) await remember(counts)
    }
  }

  async function learnSchemas(): Promise<void> {
    serdes = await openSerdes(options.registry, options.topics)
  }

  async function untilDone(step: () => Promise<void>): Promise<void> {
    let logged = ''
    while (!stopping.signal.aborted) {
      try {
        await step()
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        missing = (error as Error).message
        if (missing !== logged) options.log.warn({ reason: missing }, 'kafka_not_ready')
        logged = missing
        await runtime.sleep(START_RETRY_MS, stopping.signal)
      }
    }
  }

  /** Topics that do not exist are absent from the map. */
  async function askPartitions(names: readonly string[]): Promise<Map<string, number>> {
    await transport.connect()
    return await transport.partitionCounts(names)
  }

  /**
   * Adds the partition counts to the counts that other processes have stored. A count does not change while views are
   * served: if a topic gains partitions, its views must be rebuilt. The probe reports such a topic.
   */
  async function remember(counts: ReadonlyMap<string, number>): Promise<void> {
    await options.memory?.save(JSON.stringify({ ...(await loadCounts()), ...Object.fromEntries(counts) })).catch(() => undefined)
  }

  /**
   * Until Kafka answers, uses the partition counts that an earlier process stored, so that views can be read while
   * Kafka is down.
   */
  async function recall(): Promise<void> {
    while (partitions === undefined && options.memory !== undefined && !stopping.signal.aborted) {
      const counts = await remembered()
      if (!asked) partitions = counts
      if (partitions === undefined) await runtime.sleep(START_RETRY_MS, stopping.signal)
    }
  }

  /** Returns the stored counts by topic; empty if they cannot be read. */
  async function loadCounts(): Promise<Record<string, number>> {
    try {
      return JSON.parse((await options.memory?.load()) ?? '{}') as Record<string, number>
    } catch {
      return {}
    }
  }

  async function remembered(): Promise<Map<string, number> | undefined> {
    const known = await loadCounts()
    const counts = new Map(options.topics.flatMap(({ name }) => (known[name] === undefined ? [] : [[name, known[name]] as const])))
    return counts.size === 0 ? undefined : counts
  }

  function partitionsOf(topic: { readonly name: string }): number {
    const count = partitions?.get(topic.name)
    if (count === undefined) throw new ApiError(errors.not_ready, { message: 'Kafka has not answered yet. Try again shortly.' })
    return count
  }

  function logOf<K, V>(topic: Topic<K, V>): FactLog<K, V> {
    const known = logs.get(topic)
    if (known !== undefined) return known as FactLog<K, V>
    const count = partitionsOf(topic)
    if (serdes === undefined)
      throw new ApiError(errors.not_ready, { message: 'The schema registry has not answered yet. Try again shortly.' })
    const opened = factLog({ topic, codec: serdes.codecFor(topic), partitions: count, publisher: acknowledged, now: Date.now })
    logs.set(topic, opened as FactLog<never, never>)
    return opened
  }

  async function publish<K, V>(topic: Topic<K, V>, key: K, value: V | null): Promise<void> {
    const log = logOf(topic)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const receipt: Receipt = {
      timeoutMs: PUBLISH_TIMEOUT_MS,
      settled: (_count, error) => (error === undefined ? resolve() : reject(error)),
    }
    try {
      log.append(key, value, receipt)
      await promise
    } catch (cause) {
      if (!(cause instanceof TransportError)) throw cause
      if (cause.fatal) throw new ApiError(errors.internal_error, { message: 'The event log rejected this record.', cause })
      throw new ApiError(errors.unavailable, { message: 'The event log does not respond. Try again shortly.', cause })
    }
  }

  async function openLog<K, V>(topic: Topic<K, V>): Promise<FactLog<K, V>> {
    await started
    if (serdes === undefined) throw new Error('the API is closed')
    return factLog({ topic, codec: serdes.codecFor(topic), partitions: partitionsOf(topic), publisher: buffered, now: Date.now })
  }

  /** Waits until the spool is empty, Kafka stops responding, or the time limit is reached. */
  async function drain(): Promise<void> {
    const until = performance.now() + DRAIN_TIMEOUT_MS
    while (options.spool && spooling?.isAway === false && options.spool.state.records > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS))
  }

  return {
    publish,
    openLog,
    async publishOrSpool(topic, key, value, how) {
      if (spooling === undefined) throw new Error('the process has no spool')
      return await spooling.publishOrSpool(topic, key, value, how)
    },
    async *spooled(topic) {
      if (spooling !== undefined) yield* spooling.spooled(topic)
    },
    partitionsOf,
    partitionOf(topic, key) {
      encoder.length = 0
      topic.key.encode(key, encoder)
      return partitionFor(encoder.buffer, partitionsOf(topic), 0, encoder.length)
    },
    probe: {
      name: 'kafka',
      optional: true,
      async check() {
        if (!asked || serdes === undefined) return missing
        const found = await transport.partitionCounts(options.topics.map((topic) => topic.name))
        const gone = [...(partitions?.keys() ?? [])].filter((name) => !found.has(name))
        if (gone.length > 0) return `no such topic: ${gone.join(', ')}`
        const grown = [...(partitions ?? [])].filter(([name, count]) => found.get(name)! > count)
        if (grown.length === 0) return undefined
        const listed = grown.map(([name, count]) => `${name} has ${found.get(name)} partitions instead of ${count}`).join(', ')
        return `${listed}: the old count stays in use until the views are rebuilt and this process restarts`
      },
    },
    async close() {
      await drain()
      stopping.abort()
      await Promise.all([acknowledged.close(), buffered.close(), spoolable.close(), spooled.close()])
    },
  }
}
