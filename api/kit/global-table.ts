import { setTimeout as delay } from 'node:timers/promises'
import { type Fetcher, type PartitionData, partitionKey, type Transport } from '../../kafka/transport.ts'
import { byteWriter, type Codec, CodecError, UnknownSchemaError } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'
import { withDeadline } from './deadline.ts'
import { ApiError, errors } from './errors.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'

/** Keeps a small compacted topic as an in-memory map. Every process has the whole topic. */
export interface GlobalTable<K, V> {
  /**
   * Returns the value of a key. Throws ApiError `not_ready` until the table has read the topic up to the high
   * watermarks at its start. Before that, a missing key would mean nothing.
   */
  get(key: K): V | undefined
  /** Returns all entries, in no particular order. Throws as `get` does. */
  entries(): Iterable<readonly [K, V]>
  readonly size: number
  /** How long reading has failed, in ms; 0 while it succeeds. The entries are then at least this old. */
  readonly staleMs: number
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

export interface GlobalTableOptions<K, V> {
  readonly transport: Transport
  readonly topic: Topic<K, V>
  readonly values: Codec<V>
  /** Loads the schema with which a value was written, after UnknownSchemaError. */
  loadSchema(schemaId: number): Promise<unknown>
  readonly log: Logger
  /** Monotonic ms. Default: the process's clock. */
  monotonic?(): number
  /** A table whose reading has failed for this long is not ready. Default 60 s. */
  readonly staleAfterMs?: number
  /**
   * True if its readers have something to fall back on until the table is read. Then a process that starts while Kafka
   * is unavailable is ready without it: no other process could replace it. Default false.
   */
  readonly hasFallback?: boolean
  /** Called once, when the table becomes readable. */
  onReady?(): void
  /** Called after every change, in log order. */
  onChange?(key: K, value: V | undefined): void
}

/** Initial buffer size for one key. Longer keys grow the buffer. */
const KEY_BYTES = 64
/** The longest wait for records. Arriving records end it. */
const POLL_MS = 5_000
/** Pause after a failure of the transport or the registry. */
const RETRY_MS = 1_000
/** A table whose reading fails for longer is not ready, so that other processes serve the callers. */
const STALE_AFTER_MS = 60_000
/** Time limit of the check whether Kafka answers. Shorter than the time limit of probes. */
const KAFKA_ANSWERS_MS = 1_000
const MS_PER_SECOND = 1_000

/** Starts reading immediately and continues until it is closed. */
export function globalTable<K, V>(options: GlobalTableOptions<K, V>): GlobalTable<K, V> {
  const { transport, topic, values, log, monotonic = () => performance.now(), staleAfterMs = STALE_AFTER_MS } = options
  /** Keyed by the key's bytes as Latin-1, because keys may have any type. */
  const entries = new Map<string, readonly [K, V]>()
  const ends = new Map<string, number>()
  const positions = new Map<string, number>()
  const stopping = new AbortController()
  let fetcher: Fetcher | undefined
  let missing: string | undefined = `topic ${topic.name} is not read yet`
  let failure: { readonly since: number; readonly reason: string } | undefined
  const running = run()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        fetcher ??= await open()
        for (const data of await fetcher.poll(POLL_MS)) await apply(data)
        failure = undefined
        const isFirst = missing !== undefined
        missing = behind()
        if (isFirst && missing === undefined) options.onReady?.()
      } catch (error) {
        log.error({ topic: topic.name, reason: (error as Error).message }, 'global_table_interrupted')
        const reason = (error as Error).message
        failure = { since: failure?.since ?? monotonic(), reason }
        if (missing !== undefined) missing = reason
        await reopen()
      }
    }
    await fetcher?.close()
  }

  /** Opens a fetcher at the positions reached so far, so that a reader that was interrupted repeats no records. */
  async function open(): Promise<Fetcher> {
    const count = (await transport.partitionCounts([topic.name])).get(topic.name)
    if (count === undefined) throw new Error(`topic ${topic.name} does not exist`)
    const partitions = Array.from({ length: count }, (_, partition) => ({ topic: topic.name, partition }))
    const earliest = await transport.offsets(partitions, 'earliest')
    if (ends.size === 0) for (const [key, end] of await transport.offsets(partitions, 'end')) ends.set(key, end)
    const opened = transport.fetcher({ unreadableBatches: 'stand-in' })
    for (const partition of partitions) {
      const key = partitionKey(partition.topic, partition.partition)
      const from = Math.max(positions.get(key) ?? 0, earliest.get(key) ?? 0)
      positions.set(key, from)
      opened.assign(partition, from, 'earliest')
    }
    return opened
  }

  async function reopen(): Promise<void> {
    await fetcher?.close().catch(() => undefined)
    fetcher = undefined
    await delay(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  async function apply(data: PartitionData): Promise<void> {
    for (const chunk of data.chunks) {
      if (chunk.unreadable !== undefined) {
        log.error({ topic: topic.name, partition: chunk.partition, reason: chunk.unreadable }, 'global_table_bad_batch')
        continue
      }
      for (let index = 0; index < chunk.count; index++) {
        const { buffer, keyStart, keyEnd, valueStart, valueEnd } = chunk
        if (keyStart[index] < 0) continue
        const bytes = buffer.toString('latin1', keyStart[index], keyEnd[index])
        const change = await decoded(buffer, keyStart[index], keyEnd[index], valueStart[index], valueEnd[index])
        if (change === undefined) {
          log.error({ topic: topic.name, partition: chunk.partition, offset: chunk.offsets[index] }, 'global_table_bad_record')
          continue
        }
        const [key, value] = change
        if (value === undefined) entries.delete(bytes)
        else entries.set(bytes, [key, value])
        options.onChange?.(key, value)
      }
    }
    positions.set(partitionKey(data.topic, data.partition), data.nextOffset)
  }

  /**
   * @returns undefined if the bytes are not a valid record of this topic, in which case the entry keeps its last valid
   * value
   */
  async function decoded(
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    start: number,
    end: number,
  ): Promise<readonly [K, V | undefined] | undefined> {
    for (;;) {
      try {
        const key = topic.key.decode(buffer, keyStart, keyEnd)
        return [key, start < 0 ? undefined : values.decode(buffer, start, end)]
      } catch (error) {
        if (error instanceof CodecError) return undefined
        if (!(error instanceof UnknownSchemaError)) throw error
        if ((await options.loadSchema(error.schemaId)) === 'not-found') return undefined
      }
    }
  }

  function behind(): string | undefined {
    let records = 0
    for (const [key, end] of ends) records += Math.max(0, end - (positions.get(key) ?? 0))
    return records === 0 ? undefined : `topic ${topic.name} is ${records} records behind its high watermarks`
  }

  function staleMs(): number {
    return failure === undefined ? 0 : monotonic() - failure.since
  }

  /**
   * Checks whether the table is stale. While Kafka is unavailable, the table does not count as stale: every process is
   * affected, so none could replace this one, and the probe of Kafka reports the failure.
   * @returns the reason why the table is stale although Kafka answers
   */
  async function stale(): Promise<string | undefined> {
    const age = staleMs()
    if (failure === undefined || age < staleAfterMs || !(await doesKafkaAnswer())) return undefined
    return `topic ${topic.name} has not been read for ${Math.floor(age / MS_PER_SECOND)} s: ${failure.reason}`
  }

  async function doesKafkaAnswer(): Promise<boolean> {
    try {
      await withDeadline(transport.partitionCounts([topic.name]), KAFKA_ANSWERS_MS, () => new Error('no answer'))
      return true
    } catch {
      return false
    }
  }

  /** @returns why the table has not been read, unless its readers can do without it for as long as Kafka is away */
  async function unread(): Promise<string | undefined> {
    if (missing === undefined || (options.hasFallback === true && !(await doesKafkaAnswer()))) return undefined
    return missing
  }

  function assertReady(): void {
    if (missing !== undefined) throw new ApiError(errors.not_ready, { message: `The table of ${topic.name} is still being loaded.` })
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
    async close() {
      stopping.abort()
      fetcher?.wake()
      await running
    },
  }
}
