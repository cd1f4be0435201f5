import { partitionFor } from '../../../kafka/partitioner.ts'
import type { Serdes } from '../../../kafka/serdes.ts'
import { type MemberlessGroup, partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import { committedTopic, withTopicId } from '../sinks/committed-topic.ts'
import type { SinkSeat } from '../sinks/sink-group.ts'
import { readTopic } from './read-topic.ts'
import { type JobRequest, type RequestQueue, requestQueue } from './request-queue.ts'

/** A record that a job publishes to a topic. */
export interface JobRecord {
  // biome-ignore lint/suspicious/noExplicitAny: values are invariant, so no narrower type accepts every topic
  readonly topic: Topic<any, any>
  readonly key: unknown
  readonly value: unknown
}

/** Returns a record whose key and value have the types of its topic. */
export function jobRecord<K, V>(topic: Topic<K, V>, key: K, value: V): JobRecord {
  return { topic, key, value }
}

/** A turn: the period during which one process runs a job. */
export interface JobTurn<K, V> {
  /** Fires when this process no longer owns the partition of the request topic, or when it stops. */
  readonly signal: AbortSignal
  /** A random string that is unique to this turn. */
  readonly token: string
  /**
   * Returns the next request, in order; undefined if none arrives in time or the turn ends. The method returns the same
   * request until the job calls `completed` with it. Tombstones and undecodable records count as completed.
   */
  nextRequest(waitMs: number): Promise<JobRequest<K, V> | undefined>
  /**
   * Publishes a record. Resolves when the brokers have acknowledged it.
   * @throws FencedError when another turn has begun; in that case nothing is published
   */
  publish<PK, PV>(topic: Topic<PK, PV>, key: PK, value: PV): Promise<void>
  /**
   * Publishes several records in one transaction, so that readers see either all of them or none.
   * @throws FencedError like `publish`
   */
  publishAll(records: readonly JobRecord[]): Promise<void>
  /**
   * Reads a small topic that the job publishes, and returns the newest value of each key. Deleted keys are left out.
   * Earlier turns can no longer add anything to the topic.
   */
  readAll<PK, PV>(topic: Topic<PK, PV>): Promise<readonly (readonly [PK, PV])[]>
  /**
   * Marks the request and all earlier requests as done, so that later turns start with the next request.
   * @throws FencedError like `confirm`
   */
  completed(request: JobRequest<K, V>): Promise<void>
  /**
   * Checks with the coordinator that this process still owns the job. Call it before you change another system.
   * @throws FencedError when this process no longer owns the job
   */
  confirm(): Promise<void>
}

export interface TurnDeps<K, V> {
  readonly name: string
  readonly place: TopicPartition
  readonly requests: Topic<K, V>
  readonly signal: AbortSignal
  readonly serdes: Serdes
  /**
   * Called when the job has completed a request, or has waited for at least `QUIET_MS` and received none. Both show
   * that the cause of an earlier failure is gone.
   */
  readonly onSuccess: () => void
  readonly transport: Transport
  readonly seat: Pick<SinkSeat, 'confirmMembership'>
  readonly group: MemberlessGroup
  readonly runtime: Runtime
}

const NO_OFFSETS = new Map()
/** A wait of this length (ms) is long enough to fetch a pending request. */
const QUIET_MS = 1_000

/**
 * Opens a turn. The producers of all earlier turns are fenced first, so these turns can publish nothing more.
 * @throws FencedError when this process no longer owns the job. If it loses the job only after the first check, it may
 * have fenced the producer of the new owner
 */
export async function openTurn<K, V>(deps: TurnDeps<K, V>): Promise<{ turn: JobTurn<K, V>; close(): Promise<void> }> {
  const { name, place, requests, signal, serdes, transport, seat, group, runtime, onSuccess } = deps
  const producer = transport.producer({ transactionalId: `job-${name}` })
  const partitionCounts = new Map<string, number>()
  let queue: RequestQueue<K, V> | undefined
  /** Id of the request topic; empty if it is unknown. */
  let topicId = ''
  /** Settles when the last transaction has ended. Transactions run one after another. */
  let last: Promise<unknown> = Promise.resolve()

  async function confirm(): Promise<void> {
    signal.throwIfAborted()
    await seat.confirmMembership()
    signal.throwIfAborted()
  }

  async function partitionOf({ name: topic, key: codec }: AnyTopic, key: unknown): Promise<number> {
    const known = partitionCounts.get(topic) ?? (await transport.partitionCounts([topic])).get(topic)
    if (known === undefined) throw new Error(`the brokers returned no metadata of the topic ${topic}`)
    partitionCounts.set(topic, known)
    return partitionFor(bytesOf(codec as Codec<unknown>, key), known)
  }

  async function send(records: readonly JobRecord[]): Promise<void> {
    try {
      for (const { topic, key, value } of records) {
        const keyBytes = bytesOf(topic.key, key)
        const valueBytes = bytesOf(serdes.codecFor(topic), value)
        const appender = producer.appender(topic.name, await partitionOf(topic, key))
        appender.append(runtime.now(), keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes.length)
      }
      await producer.commit(NO_OFFSETS, undefined)
    } catch (error) {
      // The next transaction of the turn must not contain the records of this one.
      await producer.abort()
      throw error
    }
  }

  function publishAll(records: readonly JobRecord[]): Promise<void> {
    const sent = last.then(() => send(records))
    last = sent.catch(() => {})
    return sent
  }

  async function close(): Promise<void> {
    await last
    await queue?.close()
    await producer.close()
  }

  try {
    // A process that has lost the job, but has not noticed yet, must not fence the process that runs it now.
    await confirm()
    await producer.init()
    await confirm()
    const committed = await group.committed([place])
    const known = committed.get(partitionKey(place.topic, place.partition))
    topicId = (await transport.topicIds([place.topic])).get(place.topic) ?? ''
    const committedIn = committedTopic(topicId, known?.metadata ?? '')
    const from = known === undefined || committedIn === 'other' ? 0 : known.offset
    const fromEpoch = committedIn === 'same' ? known?.leaderEpoch : undefined
    queue = requestQueue({ place, from, fromEpoch, requests, serdes, transport, signal, runtime })
  } catch (error) {
    await close()
    throw error
  }
  const opened = queue
  return {
    close,
    turn: {
      signal,
      token: runtime.id(),
      async nextRequest(waitMs) {
        const request = await opened.next(waitMs)
        if (request === undefined && waitMs >= QUIET_MS && !signal.aborted) onSuccess()
        return request
      },
      publish: (topic, key, value) => publishAll([jobRecord(topic, key, value)]),
      publishAll,
      readAll: (topic) => readTopic({ topic, serdes, transport, signal, runtime }),
      async completed(request) {
        await confirm()
        const { leaderEpoch } = opened
        const offset = { ...place, offset: request.offset + 1, metadata: withTopicId(topicId, ''), leaderEpoch }
        await group.commit(new Map([[partitionKey(place.topic, place.partition), offset]]))
        opened.dropTo(request.offset)
        onSuccess()
      },
      confirm,
    },
  }
}

function bytesOf(codec: Codec<unknown>, value: unknown): Buffer {
  const out = byteWriter()
  codec.encode(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}
