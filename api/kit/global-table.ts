import type { Transport } from '../../kafka/transport.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'
import { withDeadline } from './deadline.ts'
import { ApiError, errors } from './errors.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'
import { recordApplier, recordValue } from './record-values.ts'
import { topicContents } from './topic-contents.ts'

/** Keeps a small compacted topic as an in-memory map. Every process reads the whole topic. */
export interface GlobalTable<K, V> {
  /**
   * Returns the value of a key. Throws ApiError `not_ready` until the topic has been read up to the high watermarks
   * that it had at the start. Until then, a missing key may simply not have been read yet. If the topic is deleted and
   * created again, the old values stay until the new topic has been read.
   */
  get(key: K): V | undefined
  /** Returns all entries, in no particular order. Throws the same errors as `get`. */
  entries(): Iterable<readonly [K, V]>
  readonly size: number
  /**
   * How long reads have been failing, in ms; 0 while reads succeed. Changes that were made during this time are
   * missing.
   */
  readonly staleMs: number
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

export interface GlobalTableOptions<K, V> {
  readonly transport: Transport
  readonly topic: Topic<K, V>
  readonly values: Codec<V>
  /**
   * Loads the schema that a value was written with. Called after UnknownSchemaError. Resolves with `not-found` if there
   * is no such schema, and the record is then skipped.
   */
  loadSchema(schemaId: number): Promise<unknown>
  readonly log: Logger
  /** Monotonic ms. Default: the process's clock. */
  monotonic?(): number
  /**
   * How long reads must keep failing, although Kafka responds, before the table is reported as not ready. Default 60 s.
   */
  readonly staleAfterMs?: number
  /**
   * Whether readers have a fallback while the table is not loaded. If true, a process that starts while Kafka is
   * unavailable is ready without the table, because no other process could serve the callers any better. Default false.
   */
  readonly hasFallback?: boolean
  /** Called once, when the table becomes readable. */
  onReady?(): void
  /** Called after every change, in log order. */
  onChange?(key: K, value: V | undefined): void
}

/** Initial size of the buffer for a key. The buffer grows for longer keys. */
const KEY_BYTES = 64
/** Poll timeout. A poll returns earlier if records arrive. */
const POLL_MS = 15_000
/**
 * Default of `staleAfterMs`. After this time, the table is reported as not ready, and other processes serve the
 * callers.
 */
const STALE_AFTER_MS = 60_000
/** Time limit for checking whether Kafka responds. It is shorter than the time limit of probes. */
const KAFKA_ANSWERS_MS = 1_000
const MS_PER_SECOND = 1_000

/** Opens a table. The table immediately starts to read the topic, and follows the topic until it is closed. */
export function globalTable<K, V>(options: GlobalTableOptions<K, V>): GlobalTable<K, V> {
  const { transport, topic, values, log, monotonic = () => performance.now(), staleAfterMs = STALE_AFTER_MS } = options
  /** Entries, keyed by the bytes of their key as Latin-1 text, because keys may have any type. */
  const entries = new Map<string, readonly [K, V]>()
  const apply = recordApplier({
    topic: topic.name,
    log,
    loadSchema: options.loadSchema,
    decode(chunk, index): readonly [K, V | undefined] {
      return [topic.key.decode(chunk.buffer, chunk.keyStart[index], chunk.keyEnd[index]), recordValue(values, chunk, index)]
    },
    apply([key, value], { buffer, keyStart, keyEnd }, index) {
      const bytes = buffer.toString('latin1', keyStart[index], keyEnd[index])
      contents.seen(bytes)
      if (value === undefined) entries.delete(bytes)
      else entries.set(bytes, [key, value])
      options.onChange?.(key, value)
    },
  })
  const contents = topicContents<string>({
    transport,
    topic: topic.name,
    log,
    monotonic,
    pollMs: POLL_MS,
    apply,
    held: () => entries.keys(),
    remove(bytes) {
      const [key] = entries.get(bytes)!
      entries.delete(bytes)
      options.onChange?.(key, undefined)
    },
    onReady: options.onReady,
  })

  function staleMs(): number {
    return contents.failure === undefined ? 0 : monotonic() - contents.failure.since
  }

  /**
   * Checks whether the table is stale. While Kafka is unavailable, the table does not count as stale: all processes are
   * affected, so no other process could take over, and the Kafka probe already reports the failure. When Kafka is back,
   * all processes need a moment until they read again, so the time without Kafka does not count either.
   * @returns why the table is stale although Kafka responds; undefined if it is not stale
   */
  async function stale(): Promise<string | undefined> {
    const { failure } = contents
    if (failure === undefined || monotonic() - failure.respondingSince < staleAfterMs || !(await doesKafkaAnswer())) return undefined
    return `topic ${topic.name} has not been read for ${Math.floor(staleMs() / MS_PER_SECOND)} s: ${failure.reason}`
  }

  async function doesKafkaAnswer(): Promise<boolean> {
    try {
      await withDeadline(transport.partitionCounts([topic.name]), KAFKA_ANSWERS_MS, () => new Error('no answer'))
      return true
    } catch {
      return false
    }
  }

  /**
   * Returns why the table is not loaded yet. Returns undefined if the table is loaded, or if Kafka is unavailable and
   * readers have a fallback.
   */
  async function unread(): Promise<string | undefined> {
    const { missing } = contents
    if (missing === undefined || (options.hasFallback === true && !(await doesKafkaAnswer()))) return undefined
    return missing
  }

  function assertReady(): void {
    if (contents.isReadable) return
    throw new ApiError(errors.not_ready, { message: `The data of ${topic.name} is still being loaded. Try again shortly.` })
  }

  function bytesOfKey(key: K): string {
    const out = byteWriter(KEY_BYTES)
    topic.key.encode(key, out)
    return out.buffer.toString('latin1', 0, out.length)
  }

  return {
    get(key) {
      assertReady()
      return entries.get(bytesOfKey(key))?.[1]
    },
    entries() {
      assertReady()
      return entries.values()
    },
    get size() {
      return entries.size
    },
    get staleMs() {
      return staleMs()
    },
    probe: { name: `table ${topic.name}`, check: async () => (await unread()) ?? (await stale()) },
    close: contents.close,
  }
}
