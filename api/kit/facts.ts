import { ProduceAcks, Producer } from '@platformatic/kafka'
import { type KafkaDeps, kafkaTransport } from '../../kafka/client/index.ts'
import { partitionFor } from '../../kafka/partitioner.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import { openSerdes, type Serdes } from '../../kafka/serdes.ts'
import { byteWriter } from '../../schemas/codec.ts'
import type { AnyTopic, Topic } from '../../schemas/topic.ts'
import { type Batches, batches } from './batches.ts'
import { withDeadline } from './deadline.ts'
import { ApiError, errors } from './errors.ts'
import { type FactLog, factLog } from './fact-log.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'

/** Tells Kafka what has happened. */
export interface Facts {
  /**
   * Resolves when every in-sync replica has the record; throws ApiError `unavailable` when that cannot be had in time.
   * A record whose answer was lost may be there twice: facts carry an id or replace each other.
   */
  publish<K, V>(topic: Topic<K, V>, key: K, value: V | null): Promise<void>
  /** Throws ApiError `not_ready` until Kafka has been asked. Views are partitioned as the topics that feed them. */
  partitionOf<K>(topic: KeyedTopic<K>, key: K): number
  partitionsOf(topic: { readonly name: string }): number
}

/** A topic as far as its keys go. */
export type KeyedTopic<K> = Pick<Topic<K, unknown>, 'name' | 'key'>

export interface KafkaFacts extends Facts {
  /** For facts that nobody waits for. Waits until Kafka and the registry have answered; rejects when Kafka does not any more. */
  openLog<K, V>(topic: Topic<K, V>): Promise<FactLog<K, V>>
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

export interface KafkaFactsOptions {
  readonly brokers: readonly string[]
  readonly registry: SchemaRegistry
  /** Every topic that is published to or asked for. */
  readonly topics: readonly AnyTopic[]
  /** Where partition counts are kept for an API that starts while Kafka is away: it can still read views. */
  readonly memory?: PartitionMemory
  readonly log: Logger
}

export interface PartitionMemory {
  /** null: nothing is kept. */
  load(): Promise<string | null>
  save(text: string): Promise<void>
}

/** A caller waits for its answer: better a 503 that it may repeat than a long silence. */
const PUBLISH_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 4_000
const CONNECT_TIMEOUT_MS = 2_000
/** A moved leader or a dropped connection is found again within these. */
const RETRIES = 4
const RETRY_DELAY_MS = 250
/** Between two requests of a topic: at 500 records a second one carries two or three, which spares the broker and every reader as many turns. */
const SPACING_MS = 5
const MAX_BATCH_RECORDS = 1_000
/** Brokers take a megabyte by default. */
const MAX_BATCH_BYTES = 512 * 1024
const MAX_IN_FLIGHT = 5
/** Per topic; whoever comes then is told at once instead of after a long wait. */
const MAX_WAITING = 10_000
/** Between tries to reach Kafka and the registry after the start. */
const START_RETRY_MS = 1_000

interface Message {
  readonly topic: string
  readonly key: Buffer
  readonly value: Buffer | undefined
  readonly partition: number
}

/** The client wraps the errors of its tries: the last one says what is wrong. */
function reasonOf(error: unknown): string {
  const { message, errors: tries } = error as Error & { errors?: unknown[] }
  return tries === undefined || tries.length === 0 ? message : reasonOf(tries.at(-1))
}

/** Starts connecting at once and goes on until it succeeds; until then it answers `not_ready`. */
export function kafkaFacts(options: KafkaFactsOptions): KafkaFacts {
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: 'millrace-api',
    bootstrapBrokers: [...options.brokers],
    acks: ProduceAcks.ALL,
    autocreateTopics: false,
    retries: RETRIES,
    retryDelay: RETRY_DELAY_MS,
    timeout: REQUEST_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
  })
  const transport = kafkaTransport(
    {
      brokers: [...options.brokers],
      clientId: 'millrace-api',
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      deliveryTimeoutMs: PUBLISH_TIMEOUT_MS,
    },
    // Whatever createLogger makes is pino's.
    { clock: Date, log: options.log as unknown as KafkaDeps['log'] },
  )
  const encoder = byteWriter()
  /** By topic: a topic that cannot be written holds up no other. */
  const senders = new Map<string, Batches<Message>>()
  const stopping = new AbortController()
  let partitions: ReadonlyMap<string, number> | undefined
  /** The counts are Kafka's own word, not remembered ones. */
  let asked = false
  let serdes: Serdes | undefined
  let missing = 'not asked yet'
  const started = Promise.all([start(), recall()])

  async function start(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (!asked) {
          partitions = await askPartitions()
          asked = true
          await remember(partitions)
        }
        serdes ??= await openSerdes(options.registry, options.topics)
        options.log.info({ topics: Object.fromEntries(partitions ?? []) }, 'kafka_ready')
        return
      } catch (error) {
        const reason = reasonOf(error)
        if (reason !== missing) options.log.warn({ reason }, 'kafka_not_ready')
        missing = reason
        await pause(START_RETRY_MS, stopping.signal)
      }
    }
  }

  async function askPartitions(): Promise<Map<string, number>> {
    const names = options.topics.map((topic) => topic.name)
    const { topics } = await producer.metadata({ topics: names, forceUpdate: true })
    const absent = names.filter((name) => !topics.has(name))
    if (absent.length > 0) throw new Error(`no such topic: ${absent.join(', ')}`)
    return new Map(names.map((name) => [name, topics.get(name)!.partitionsCount]))
  }

  /** Counts do not change while views are served: a topic that grows needs its views rebuilt. */
  async function remember(counts: ReadonlyMap<string, number>): Promise<void> {
    const known = JSON.parse((await options.memory?.load().catch(() => null)) ?? '{}') as Record<string, number>
    await options.memory?.save(JSON.stringify({ ...known, ...Object.fromEntries(counts) })).catch(() => undefined)
  }

  /** Kafka may take long to say that it is away: until it has answered, what it said to an earlier life holds. */
  async function recall(): Promise<void> {
    while (partitions === undefined && options.memory !== undefined && !stopping.signal.aborted) {
      const counts = await remembered()
      if (!asked) partitions = counts
      if (partitions === undefined) await pause(START_RETRY_MS, stopping.signal)
    }
  }

  async function remembered(): Promise<Map<string, number> | undefined> {
    const known = JSON.parse((await options.memory?.load().catch(() => null)) ?? '{}') as Record<string, number>
    const counts = new Map(options.topics.flatMap(({ name }) => (known[name] === undefined ? [] : [[name, known[name]] as const])))
    return counts.size === 0 ? undefined : counts
  }

  function partitionsOf(topic: { readonly name: string }): number {
    const count = partitions?.get(topic.name)
    if (count === undefined) throw new ApiError(errors.not_ready, { message: 'Kafka has not answered yet: try again shortly.' })
    return count
  }

  /** The encoder is shared: nothing may be awaited between encoding and copying. */
  function bytesOf(encode: (out: typeof encoder) => void): Buffer {
    encoder.length = 0
    encode(encoder)
    return Buffer.from(encoder.buffer.subarray(0, encoder.length))
  }

  function keyBytes<K>(topic: KeyedTopic<K>, key: K): Buffer {
    return bytesOf((out) => topic.key.encode(key, out))
  }

  function encoderFor<K, V>(topic: Topic<K, V>): (key: K, value: V | null) => Message {
    const count = partitionsOf(topic)
    if (serdes === undefined)
      throw new ApiError(errors.not_ready, { message: 'The schema registry has not answered yet: try again shortly.' })
    const codec = serdes.codecFor(topic)
    return function messageOf(key, value) {
      const bytes = keyBytes(topic, key)
      const encoded = value === null ? undefined : bytesOf((out) => codec.encode(value, out))
      return { topic: topic.name, key: bytes, value: encoded, partition: partitionFor(bytes, count) }
    }
  }

  async function publish<K, V>(topic: Topic<K, V>, key: K, value: V | null): Promise<void> {
    const message = encoderFor(topic)(key, value)
    try {
      await acknowledged(message)
    } catch (cause) {
      throw new ApiError(errors.unavailable, { message: 'The event log does not answer: try again shortly.', cause })
    }
  }

  async function openLog<K, V>(topic: Topic<K, V>): Promise<FactLog<K, V>> {
    await started
    if (serdes === undefined) throw new Error('the API is closed')
    await transport.connect()
    const producer = transport.producer({})
    await producer.init()
    return factLog({ topic, codec: serdes.codecFor(topic), partitions: partitionsOf(topic), producer, now: Date.now })
  }

  /** Throws also when too much is waiting. What is not sent in time is not sent later either. */
  async function acknowledged(message: Message): Promise<void> {
    const { sent, cancel } = senderOf(message.topic).add(message)
    const late = () => new Error(`no acknowledgement within ${PUBLISH_TIMEOUT_MS} ms`)
    try {
      await withDeadline(sent, PUBLISH_TIMEOUT_MS, late)
    } catch (error) {
      cancel()
      throw error
    }
  }

  function senderOf(topic: string): Batches<Message> {
    const known = senders.get(topic)
    if (known !== undefined) return known
    const sender = batches<Message>({
      send: (messages) => producer.send({ messages: [...messages], acks: ProduceAcks.ALL }),
      bytesOf: ({ key, value }) => key.length + (value?.length ?? 0),
      spacingMs: SPACING_MS,
      maxItems: MAX_BATCH_RECORDS,
      maxBytes: MAX_BATCH_BYTES,
      maxInFlight: MAX_IN_FLIGHT,
      maxWaiting: MAX_WAITING,
    })
    senders.set(topic, sender)
    return sender
  }

  return {
    publish,
    openLog,
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
        if (serdes === undefined) return missing
        await producer.metadata({ topics: options.topics.map((topic) => topic.name), forceUpdate: true, retries: 0 })
        return undefined
      },
    },
    async close() {
      stopping.abort()
      await started
      await Promise.all([producer.close(), transport.close()])
    },
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
