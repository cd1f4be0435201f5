import { partitionFor } from '../../../kafka/partitioner.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { type PublishAppender, type Publisher, TransportError } from '../../../kafka/transport.ts'
import type { CancelTimer, Runtime } from '../../../runtime/runtime.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import type { AvroSchema, SchemaLookup, Topic } from '../../../schemas/topic.ts'
import { ApiError, errors } from '../errors.ts'
import { Absence } from './absence.ts'
import type { SpooledRecord, SpooledTopic } from './frames.ts'
import { type Outcome, type Spool, type Spooled, TopicAbsent } from './spool.ts'

export interface SpoolingOptions {
  /** How long to wait for Kafka before the record is spooled, in ms; 0 if the request has already used up its time. */
  readonly withinMs: number
  /**
   * Whether the record is spooled at once, without waiting for Kafka first. If true, a slow Kafka does not count as
   * unavailable. The value must be the same for all records of a topic, because their order depends on it.
   */
  readonly isAlwaysSpooled?: boolean
  /**
   * Whether a spooled record must also survive a loss of power. The record survives the end of the process either way.
   */
  readonly isDurable: boolean
}

export type Published = 'acknowledged' | 'spooled'

/** Publishes facts, and spools them if Kafka does not accept them in time. */
export interface SpoolingFacts {
  /**
   * Resolves with `acknowledged` when every in-sync replica has the record, or with `spooled` when the record is in a
   * file of this process. The file keeps the record until Kafka has it. Records with the same key are sent in the order
   * of the calls. A record may be sent twice. This happens if it is unknown whether Kafka has accepted the record, or
   * if the process ends after it has sent the record but before it has stored that the record was sent. Consumers must
   * therefore drop duplicates.
   * @throws ApiError: `unavailable` if neither Kafka nor the spool accepts the record (the record may still have been
   * written), `internal_error` if Kafka rejects the record permanently
   */
  publishOrSpool<K, V>(topic: Topic<K, V>, key: K, value: V | null, options: SpoolingOptions): Promise<Published>
  /**
   * Yields the records of a topic that wait in the spool, in sending order. Records of dead processes are included.
   * Records written by an older version of the software are converted to the current schema.
   */
  spooled<K, V>(topic: Topic<K, V>): AsyncIterable<{ readonly key: K; readonly value: V | null }>
}

export interface SpoolingDeps {
  readonly publisher: Publisher
  /** Sends records that are always spooled. This publisher may collect records for a while before it sends them. */
  readonly background: Publisher
  readonly spool: Spool
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
  /** Returns the codec that writes the registered schema id; undefined if the id is not known yet. */
  codecOf<V>(topic: Topic<unknown, V>): Codec<V> | undefined
  /** Returns the partition count of a topic; undefined if it is not known yet. */
  partitionsOf(topic: string): number | undefined
  /**
   * Asks Kafka for the partition count of a topic. Needed for spooled records from an earlier process whose topic is
   * not among the topics of this process. Resolves with undefined if the topic does not exist.
   */
  askPartitions(topic: string): Promise<number | undefined>
}

/** Errors that concern the record itself. After any other error, a later attempt may succeed. */
const REFUSED: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'INVALID_TIMESTAMP'])
/** Position of the schema id in an Avro value. */
const SCHEMA_ID_AT = 1
/** An id that no schema has, so that each value is resolved from the schema that it was written with. */
const UNREGISTERED = -1
const NO_SCHEMAS: SchemaLookup = { get: () => undefined }

/** A record that was passed to `publishOrSpool`. */
interface Waiting {
  readonly record: SpooledRecord
  readonly isDurable: boolean
  cancelTimer: CancelTimer | undefined
  /** The record in the spool; undefined until it is spooled. */
  spooled: Spooled | undefined
  readonly resolve: (published: Published) => void
  readonly reject: (error: Error) => void
}

/** A topic whose records this process has encoded. */
interface EncodedTopic {
  readonly topic: SpooledTopic
  /** Writes values until the registered schema id is known. */
  readonly unregistered: Codec<unknown>
  /** Whether `#schemaIds` contains the id of the schema that this process uses. */
  isRegistered: boolean
}

export class SpoolingPublisher implements SpoolingFacts {
  readonly #deps: SpoolingDeps
  readonly #absence = new Absence()
  /** Records that the publisher has but the spool does not, keyed by topic and key, oldest first. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  readonly #topics = new Map<string, EncodedTopic>()
  /** Topics whose records are always spooled. */
  readonly #alwaysSpooled = new Set<string>()
  /** The publisher that each topic has used last. */
  readonly #used = new Map<string, Publisher>()
  readonly #schemaIds = new Map<string, number>()
  readonly #counts = new Map<string, number>()
  readonly #bytes = byteWriter()

  constructor(deps: SpoolingDeps) {
    this.#deps = deps
    deps.spool.start((record, settled) => this.#deliver(record, settled))
  }

  get isAway(): boolean {
    return this.#absence.isAway()
  }

  publishOrSpool<K, V>(topic: Topic<K, V>, key: K, value: V | null, options: SpoolingOptions): Promise<Published> {
    const { withinMs, isDurable, isAlwaysSpooled = false } = options
    const { promise, resolve, reject } = Promise.withResolvers<Published>()
    if (isAlwaysSpooled) this.#alwaysSpooled.add(topic.name)
    const record = this.#encode(topic, key, value)
    const line = lineOf(record)
    const waiting: Waiting = { record, isDurable, cancelTimer: undefined, spooled: undefined, resolve, reject }
    const partitions = this.#deps.codecOf(topic) === undefined ? undefined : this.#deps.partitionsOf(topic.name)
    const partition = partitions === undefined ? undefined : partitionFor(record.key, partitions)
    const isAway = partition === undefined || this.#absence.isAway(laneOf(topic.name, partition))
    if (isAway || this.#deps.spool.holds(topic.name, record.key)) {
      this.#spoolLine(line)
      this.#spool(waiting, false)
    } else this.#publish(waiting, line, partition, isAlwaysSpooled ? 'spool' : withinMs)
    return promise
  }

  async *spooled<K, V>(topic: Topic<K, V>): AsyncGenerator<{ readonly key: K; readonly value: V | null }> {
    const codecs = new Map<string, Codec<V>>()
    for await (const { topic: written, key, value } of this.#deps.spool.unsent()) {
      if (written.name !== topic.name) continue
      let codec = codecs.get(written.schema)
      if (codec === undefined) {
        const schema = written.schema === '' ? undefined : (JSON.parse(written.schema) as AvroSchema)
        codec = topic.value.open(UNREGISTERED, { get: () => schema })
        codecs.set(written.schema, codec)
      }
      yield { key: topic.key.decode(key, 0, key.length), value: value && codec.decode(value, 0, value.length) }
    }
  }

  /**
   * Publishes a record, and spools it if Kafka does not accept it in time.
   * @param wait ms to wait before the record is spooled; `spool` spools it at once
   */
  #publish(waiting: Waiting, line: string, partition: number, wait: number | 'spool'): void {
    const { record } = waiting
    const lane = laneOf(record.topic.name, partition)
    const settled = (_count: number, error: TransportError | undefined): void => {
      const outcome = outcomeOf(error)
      if (outcome === 'failed') this.#absence.late(lane)
      else this.#absence.answered(lane)
      if (waiting.spooled !== undefined) waiting.spooled.settle(outcome)
      else if (outcome === 'failed') {
        this.#spoolLine(line)
        ;(waiting.spooled as Spooled | undefined)?.settle('failed')
      }
      if (outcome === 'sent') waiting.resolve('acknowledged')
      else if (outcome === 'refused') waiting.reject(rejected(error))
      this.#leave(line, waiting)
    }
    try {
      append(this.#appender(record.topic.name, partition), record, settled)
    } catch (error) {
      if (outcomeOf(error as Error) === 'refused') throw rejected(error as Error)
      this.#absence.late(lane)
      this.#spoolLine(line)
      this.#spool(waiting, false)
      return
    }
    const others = this.#waiting.get(line)
    if (others === undefined) this.#waiting.set(line, new Set([waiting]))
    else others.add(waiting)
    if (wait === 'spool') {
      this.#spoolLine(line)
      return
    }
    waiting.cancelTimer = this.#deps.runtime.setTimer(wait, () => {
      this.#absence.late(lane)
      this.#spoolLine(line)
    })
  }

  #appender(topic: string, partition: number): PublishAppender {
    const { publisher, background } = this.#deps
    const wanted = this.#alwaysSpooled.has(topic) ? background : publisher
    const used = this.#used.get(topic) ?? wanted
    // Records of dead processes are sent before the first new record shows that its topic is always spooled. The order
    // of records in different publishers is undefined. A topic therefore gets a different publisher only when its
    // previous publisher has no pending records.
    const chosen = used !== wanted && used.pendingRecords > 0 ? used : wanted
    this.#used.set(topic, chosen)
    return chosen.appender(topic, partition)
  }

  /** Spools all waiting records of a key, so that the spool has them in order and before later records. */
  #spoolLine(line: string): void {
    for (const waiting of this.#waiting.get(line) ?? []) this.#spool(waiting, true)
    this.#waiting.delete(line)
  }

  #spool(waiting: Waiting, isPublished: boolean): void {
    waiting.cancelTimer?.()
    waiting.spooled = this.#deps.spool.append(waiting.record, { isDurable: waiting.isDurable, isPublished })
    waiting.spooled.stored.then(
      () => waiting.resolve('spooled'),
      (cause: Error) =>
        waiting.reject(
          new ApiError(errors.unavailable, { message: 'The data of this request could not be stored. Try again shortly.', cause }),
        ),
    )
  }

  #leave(line: string, waiting: Waiting): void {
    waiting.cancelTimer?.()
    const others = this.#waiting.get(line)
    others?.delete(waiting)
    if (others?.size === 0) this.#waiting.delete(line)
  }

  #encode<K, V>(topic: Topic<K, V>, key: K, value: V | null): SpooledRecord {
    let known = this.#topics.get(topic.name)
    if (known === undefined) {
      const { schema } = topic.value
      const described = { name: topic.name, schema: schema === undefined ? '' : JSON.stringify(schema) }
      known = { topic: described, unregistered: topic.value.open(0, NO_SCHEMAS) as Codec<unknown>, isRegistered: false }
      this.#topics.set(topic.name, known)
    }
    const registered = this.#deps.codecOf(topic as unknown as Topic<unknown, V>)
    const codec = registered ?? (known.unregistered as Codec<V>)
    const bytes = this.#bytes
    bytes.length = 0
    topic.key.encode(key, bytes)
    const keyEnd = bytes.length
    if (value !== null) codec.encode(value, bytes)
    const copy = Buffer.from(bytes.buffer.subarray(0, bytes.length))
    if (registered !== undefined && value !== null && known.topic.schema !== '' && !known.isRegistered) {
      // The codec has written the schema id, so the spool need not ask the registry, which may also be unavailable.
      this.#schemaIds.set(schemaKey(known.topic), copy.readUInt32BE(keyEnd + SCHEMA_ID_AT))
      known.isRegistered = true
    }
    return {
      topic: known.topic,
      timestamp: this.#deps.runtime.now(),
      key: copy.subarray(0, keyEnd),
      value: value === null ? null : copy.subarray(keyEnd),
    }
  }

  async #deliver(record: SpooledRecord, settled: (outcome: Outcome) => void): Promise<void> {
    const { topic, key, value } = record
    const partitions = this.#deps.partitionsOf(topic.name) ?? this.#counts.get(topic.name) ?? (await this.#ask(topic.name))
    const schemaId = topic.schema === '' ? undefined : (this.#schemaIds.get(schemaKey(topic)) ?? (await this.#register(topic)))
    if (schemaId !== undefined) value?.writeUInt32BE(schemaId, SCHEMA_ID_AT)
    const partition = partitionFor(key, partitions)
    const lane = laneOf(topic.name, partition)
    try {
      append(this.#appender(topic.name, partition), record, (_count, error) => {
        const outcome = outcomeOf(error)
        if (outcome !== 'failed') this.#absence.answered(lane)
        if (outcome === 'refused')
          this.#deps.runtime.log.error({ topic: topic.name, reason: (error as Error).message }, 'spool_record_refused')
        settled(outcome)
      })
    } catch (error) {
      if (outcomeOf(error as Error) !== 'refused') throw error
      this.#deps.runtime.log.error({ topic: topic.name, reason: (error as Error).message }, 'spool_record_refused')
      settled('refused')
    }
  }

  async #ask(topic: string): Promise<number> {
    const count = await this.#deps.askPartitions(topic)
    if (count === undefined) throw new TopicAbsent(`no such topic: ${topic}`)
    this.#counts.set(topic, count)
    return count
  }

  async #register(topic: SpooledTopic): Promise<number> {
    const id = await this.#deps.registry.register(`${topic.name}-value`, topic.schema)
    this.#schemaIds.set(schemaKey(topic), id)
    return id
  }
}

function append(
  appender: PublishAppender,
  { timestamp, key, value }: SpooledRecord,
  settled: (count: number, error: TransportError | undefined) => void,
): void {
  appender.append({ settled }, timestamp, key, 0, key.length, value, 0, value?.length ?? 0)
}

function outcomeOf(error: Error | undefined): Outcome {
  if (error === undefined) return 'sent'
  return error instanceof TransportError && REFUSED.has(error.code) ? 'refused' : 'failed'
}

function rejected(cause: Error | undefined): ApiError {
  return new ApiError(errors.internal_error, { message: 'The event log rejected this record.', cause })
}

function laneOf(topic: string, partition: number): string {
  return `${topic}-${partition}`
}

function lineOf({ topic, key }: SpooledRecord): string {
  return `${topic.name} ${key.toString('latin1')}`
}

function schemaKey({ name, schema }: SpooledTopic): string {
  return `${name} ${schema}`
}
