import type { Serdes } from '../../../kafka/serdes.ts'
import type { TopicPartition, Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { partitionQueue } from '../sinks/queue.ts'

/** A request that is not completed yet. */
export interface JobRequest<K, V> {
  readonly key: K
  readonly value: V
  readonly offset: number
}

export interface RequestQueue<K, V> {
  /** Returns the first request; undefined if none arrives in time or the turn ends. */
  next(waitMs: number): Promise<JobRequest<K, V> | undefined>
  /** The latest leader epoch in which the log is known to contain all returned requests; undefined if it is unknown. */
  readonly leaderEpoch: number | undefined
  /** Drops the requests up to this offset, inclusive. */
  dropTo(offset: number): void
  close(): Promise<void>
}

export interface RequestQueueDeps<K, V> {
  readonly place: TopicPartition
  /** Offset of the first request that is not completed. */
  readonly from: number
  /** The leader epoch that was committed with `from`; undefined if it is unknown. */
  readonly fromEpoch: number | undefined
  readonly requests: Topic<K, V>
  readonly serdes: Serdes
  readonly transport: Transport
  readonly signal: AbortSignal
  readonly runtime: Pick<Runtime, 'monotonic' | 'log'>
}

/**
 * How long the broker may hold a fetch request while it has no data. This can be long, because requests for the job are
 * rare.
 */
const IDLE_WAIT_MS = 15_000
const LIMITS = { maxRecords: 100, maxBytes: 1024 * 1024 }

/** Reads the requests of a job from offset `from`. Skips tombstones, and logs and drops undecodable requests. */
export function requestQueue<K, V>(deps: RequestQueueDeps<K, V>): RequestQueue<K, V> {
  const { place, from, fromEpoch, requests, serdes, transport, signal, runtime } = deps
  const missing = new Set<number>()
  const queue = partitionQueue({ key: requests.key, value: serdes.codecFor(requests), isMissing: (id) => missing.has(id) })
  const fetcher = transport.fetcher({ unreadableBatches: 'stand-in', idleWaitMs: () => IDLE_WAIT_MS })
  const waiting: JobRequest<K, V>[] = []
  let leaderEpoch = fromEpoch
  // With the epoch, the reader notices when the log has lost completed requests. Otherwise, it would skip new requests
  // that have the offsets of the lost ones.
  fetcher.assign(place, from, 'earliest', fromEpoch)
  signal.addEventListener('abort', fetcher.wake, { once: true })

  async function decodeArrived(): Promise<void> {
    for (;;) {
      const taken = queue.take(LIMITS)
      for (const { key, value, offset } of taken?.records ?? []) {
        if (value !== null) waiting.push({ key: key as K, value: value as V, offset })
      }
      for (const { code, message } of taken?.bad ?? [])
        runtime.log.warn({ topic: place.topic, code, reason: message }, 'job_request_dropped')
      if (queue.waitsForSchema !== undefined) {
        const found = await serdes.schemas.load(queue.waitsForSchema)
        if (found === 'not-found') missing.add(queue.waitsForSchema)
      } else if (taken === undefined) return
    }
  }

  return {
    async next(waitMs) {
      const deadline = runtime.monotonic() + waitMs
      while (waiting.length === 0 && !signal.aborted) {
        const left = deadline - runtime.monotonic()
        for (const data of await fetcher.poll(Math.max(0, left))) {
          queue.push(data)
          leaderEpoch = data.leaderEpoch
        }
        await decodeArrived()
        if (left <= 0) break
      }
      return signal.aborted ? undefined : waiting[0]
    },
    get leaderEpoch() {
      return leaderEpoch
    },
    dropTo(offset) {
      while (waiting.length > 0 && waiting[0].offset <= offset) waiting.shift()
    },
    close: fetcher.close,
  }
}
