import { partitionKey, type TopicPartition, type Transport } from '../../kafka/transport.ts'
import type { Topic } from '../../schemas/topic.ts'
import type { Keyed } from './expected.ts'

const POLL_MS = 100
const MAX_WAIT_MS = 50

/** Reads committed records of some topics, and continues where it stopped. */
export interface LogReader {
  /** Reads up to the current ends of the logs. */
  catchUp(): Promise<void>
  /** Returns everything that was read so far, by partition. */
  of<V>(topic: Topic<string, V>): Keyed<V>[][]
  close(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: topics of all values, as in AnyTopic
export function logReader(transport: Transport, topics: readonly Topic<string, any>[]): LogReader {
  const fetcher = transport.fetcher({ maxWaitMs: MAX_WAIT_MS })
  const known = new Map(topics.map((topic) => [topic.name, { topic, codec: topic.value.open(0, { get: () => undefined }) }]))
  const logs = new Map<string, Keyed<unknown>[][]>()
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
      const log = (logs.get(name) as Keyed<unknown>[][])[partition]
      for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks)
        for (let i = 0; i < count; i++)
          log.push({ key: topic.key.decode(buffer, keyStart[i], keyEnd[i]), value: codec.decode(buffer, valueStart[i], valueEnd[i]) })
    }
  }

  return {
    async catchUp() {
      const ends = await transport.offsets(partitions, 'end')
      const isBehind = (each: TopicPartition) => (fetcher.position(each) ?? 0) < (ends.get(partitionKey(each.topic, each.partition)) ?? 0)
      while (partitions.some(isBehind)) take(await fetcher.poll(POLL_MS))
    },
    of: <V>(topic: Topic<string, V>) => logs.get(topic.name) as Keyed<V>[][],
    close: () => fetcher.close(),
  }
}
