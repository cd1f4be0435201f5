import { partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { productCreated, productUpdated } from '../../../schemas/catalog/products/topics.ts'

const TOPICS = [productCreated.name, productUpdated.name]
const POLL_MS = 1_000
/** Number of consecutive polls without progress after which Kafka counts as unavailable. */
const MOST_SILENT_POLLS = 30

interface ProcessedCheckOptions {
  readonly transport: Transport
  /** Name of the topology that processes the events. */
  readonly topology: string
  readonly maxLagMs: number
  readonly runtime: Pick<Runtime, 'now'>
}

/**
 * Returns a function that checks whether the topology has processed all product events that are older than `maxLagMs`.
 * The function returns the time of its previous check, in epoch ms; undefined if there was none, or if that check
 * failed. At that time, the topology had already processed all events that were older than `maxLagMs`, and had written
 * their results.
 * @throws Error if such an old event still waits, or if Kafka does not return the waiting events
 */
export function processedCheck({ transport, topology, maxLagMs, runtime }: ProcessedCheckOptions) {
  let checkedAt: number | undefined
  return async function check(signal: AbortSignal): Promise<number | undefined> {
    const before = checkedAt
    checkedAt = undefined
    const now = runtime.now()
    const oldest = await oldestWaiting(transport, topology, signal)
    if (oldest < now - maxLagMs) throw new Error(`product events have waited for ${topology} since ${new Date(oldest).toISOString()}`)
    checkedAt = now
    return before
  }
}

/**
 * Returns the timestamp, in epoch ms, of the oldest product event that the topology has not processed yet; Infinity if
 * it has processed all of them.
 */
async function oldestWaiting(transport: Transport, topology: string, signal: AbortSignal): Promise<number> {
  const counts = await transport.partitionCounts(TOPICS)
  const places = [...counts].flatMap(([topic, count]) => Array.from({ length: count }, (_, partition) => ({ topic, partition })))
  const group = transport.memberlessGroup(topology)
  const committed = await group.committed(places).finally(() => group.close())
  const starts = await transport.offsets(places, 'earliest')
  const ends = await transport.offsets(places, 'end')
  const fetcher = transport.fetcher({ unreadableBatches: 'stand-in' })
  /** The partitions whose first waiting event is not known yet, with the ends of their logs. */
  const unknown = new Map<string, number>()
  for (const place of places) {
    const key = keyOf(place)
    const from = Math.max(committed.get(key)?.offset ?? 0, starts.get(key) ?? 0)
    const end = ends.get(key) ?? 0
    if (from >= end) continue
    unknown.set(key, end)
    fetcher.assign(place, from, 'earliest')
  }
  let oldest = Number.POSITIVE_INFINITY
  let silent = 0
  try {
    while (unknown.size > 0) {
      signal.throwIfAborted()
      const fetched = await fetcher.poll(POLL_MS)
      const before = unknown.size
      for (const data of fetched) {
        const first = data.chunks.find(({ count }) => count > 0)
        if (first !== undefined) oldest = Math.min(oldest, first.timestamps[0])
        // If the rest of the log contains no events, only transaction markers follow the committed offset.
        else if (data.nextOffset < unknown.get(keyOf(data))!) continue
        unknown.delete(keyOf(data))
        fetcher.unassign(data)
      }
      silent = unknown.size < before ? 0 : silent + 1
      if (silent > MOST_SILENT_POLLS) throw new Error('Kafka did not return the unprocessed product events in time')
    }
  } finally {
    await fetcher.close()
  }
  return oldest
}

function keyOf({ topic, partition }: TopicPartition): string {
  return partitionKey(topic, partition)
}
