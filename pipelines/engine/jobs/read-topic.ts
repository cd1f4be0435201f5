import type { Serdes } from '../../../kafka/serdes.ts'
import { partitionKey, type Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { partitionQueue } from '../sinks/queue.ts'

export interface TopicRead<K, V> {
  readonly topic: Topic<K, V>
  readonly serdes: Serdes
  readonly transport: Transport
  readonly signal: AbortSignal
  readonly runtime: Pick<Runtime, 'log'>
}

const LIMITS = { maxRecords: 1_000, maxBytes: 4 * 1024 * 1024 }
const POLL_MS = 1_000

/**
 * Reads a small topic up to the end that it has at the time of the call, and returns the newest value of each key.
 * Deleted keys are left out. Records that cannot be decoded are logged and skipped. Rejects when `signal` fires first,
 * or when the brokers return no metadata of the topic.
 */
export async function readTopic<K, V>({
  topic,
  serdes,
  transport,
  signal,
  runtime,
}: TopicRead<K, V>): Promise<readonly (readonly [K, V])[]> {
  const count = (await transport.partitionCounts([topic.name])).get(topic.name)
  // The metadata of a broker that has fallen behind may lack the topic, even though the topic is not empty.
  if (count === undefined) throw new Error(`the brokers returned no metadata of the topic ${topic.name}`)
  const places = Array.from({ length: count }, (_, partition) => ({ topic: topic.name, partition }))
  const starts = await transport.offsets(places, 'earliest')
  let ends = await transport.offsets(places, 'end')
  const missing = new Set<number>()
  const newest = new Map<string, readonly [K, V]>()
  const behind = new Set<number>()
  const endOf = (partition: number) => ends.get(partitionKey(topic.name, partition)) ?? 0
  const nextOffsets = places.map((place) => starts.get(partitionKey(place.topic, place.partition)) ?? 0)
  const fetcher = transport.fetcher({ unreadableBatches: 'stand-in' })
  const queues = places.map((place) => {
    const start = nextOffsets[place.partition]
    if (endOf(place.partition) > start) behind.add(place.partition)
    fetcher.assign(place, start, 'earliest')
    return partitionQueue({ key: topic.key, value: serdes.codecFor(topic), isMissing: (id) => missing.has(id) })
  })
  signal.addEventListener('abort', fetcher.wake, { once: true })

  async function apply(partition: number): Promise<void> {
    const queue = queues[partition]
    for (;;) {
      const taken = queue.take(LIMITS)
      for (const { key, value, chunk, row } of taken?.records ?? []) {
        const name = chunk.buffer.toString('latin1', chunk.keyStart[row], chunk.keyEnd[row])
        if (value === null) newest.delete(name)
        else newest.set(name, [key as K, value as V])
      }
      for (const { code, message } of taken?.bad ?? []) runtime.log.warn({ topic: topic.name, code, reason: message }, 'job_record_skipped')
      if (queue.waitsForSchema !== undefined) {
        if ((await serdes.schemas.load(queue.waitsForSchema)) === 'not-found') missing.add(queue.waitsForSchema)
      } else if (taken === undefined) return
    }
  }

  try {
    while (behind.size > 0) {
      const fetched = await fetcher.poll(POLL_MS)
      for (const data of fetched) {
        queues[data.partition].push(data)
        await apply(data.partition)
        nextOffsets[data.partition] = data.nextOffset
      }
      signal.throwIfAborted()
      // After an unclean leader election, the log may be shorter than at the time of the call. The lower ends then
      // apply.
      if (fetched.every(({ chunks }) => chunks.length === 0)) ends = shorter(ends, await transport.offsets(places, 'end'))
      for (const partition of behind) if (nextOffsets[partition] >= endOf(partition)) behind.delete(partition)
    }
  } finally {
    signal.removeEventListener('abort', fetcher.wake)
    await fetcher.close()
  }
  return [...newest.values()]
}

/** Returns the lower of the two ends of each partition, so that records that are added later do not prolong a read. */
function shorter(known: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...known].map(([place, end]) => [place, Math.min(end, now.get(place) ?? end)]))
}
