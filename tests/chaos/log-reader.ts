import { partitionKey, type TopicPartition, type Transport } from '../../kafka/transport.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'
import type { Keyed } from './expected.ts'

const POLL_MS = 100
const MAX_WAIT_MS = 50

/** A record with its offset in the log. */
export interface Logged<V> extends Keyed<V> {
  readonly offset: number
  /** Timestamp of the record, epoch ms. */
  readonly timestamp: number
}

/** Reads the committed records of some topics. Each read continues where the previous read ended. */
export interface LogReader {
  /** Reads up to the current ends of the logs. */
  catchUp(): Promise<void>
  /** Returns all records that were read so far, as one list per partition. */
  of<V>(topic: Topic<string, V>): Logged<V>[][]
  close(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: topics with any value type, as in AnyTopic
type LoggedTopic = Topic<string, any>

/** @param codecOf returns the codec for a topic's values; default: the codec for formats without a registered schema */
export function logReader(
  transport: Transport,
  topics: readonly LoggedTopic[],
  codecOf: (topic: LoggedTopic) => Codec<unknown> = (topic) => topic.value.open(0, { get: () => undefined }),
): LogReader {
  const fetcher = transport.fetcher({ maxWaitMs: MAX_WAIT_MS })
  const known = new Map(topics.map((topic) => [topic.name, { topic, codec: codecOf(topic) }]))
  const logs = new Map<string, Logged<unknown>[][]>()
  const partitions: TopicPartition[] = []
  for (const { name, partitions: count } of topics) {
    logs.set(
      name,
      Array.from({ length: count }, () => []),
    )
    for (let partition = 0; partition < count; partition++) partitions.push({ topic: name, partition })
  }
  for (const partition of partitions) fetcher.assign(partition, 0, 'fail')

  function take(data: Awaited<ReturnType<typeof fetcher.poll>>): void {
    for (const { topic: name, partition, chunks } of data) {
      const { topic, codec } = known.get(name) as NonNullable<ReturnType<typeof known.get>>
      const log = (logs.get(name) as Logged<unknown>[][])[partition]
      for (const { buffer, count, offsets, timestamps, keyStart, keyEnd, valueStart, valueEnd } of chunks)
        for (let i = 0; i < count; i++)
          log.push({
            key: topic.key.decode(buffer, keyStart[i], keyEnd[i]),
            value: valueStart[i] < 0 ? null : codec.decode(buffer, valueStart[i], valueEnd[i]),
            offset: offsets[i],
            timestamp: timestamps[i],
          })
    }
  }

  return {
    async catchUp() {
      const ends = await transport.offsets(partitions, 'end')
      const isBehind = (each: TopicPartition) => (fetcher.position(each) ?? 0) < (ends.get(partitionKey(each.topic, each.partition)) ?? 0)
      while (partitions.some(isBehind)) take(await fetcher.poll(POLL_MS))
    },
    of: <V>(topic: Topic<string, V>) => logs.get(topic.name) as Logged<V>[][],
    close: () => fetcher.close(),
  }
}
