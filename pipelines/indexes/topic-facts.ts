import type { KeeperDeps } from './keeper-deps.ts'

type TopicDeps<K, V> = Pick<KeeperDeps<K, V>, 'topic' | 'transport'>

/** @throws Error if the topic does not exist, or if the metadata of the broker that answers does not include it yet */
export async function topicIdOf<K, V>({ topic, transport }: TopicDeps<K, V>): Promise<string> {
  return known(topic.name, await transport.topicIds([topic.name]))
}

/**
 * Returns the actual partition count of the index's topic. The declared count may differ from it. With that count, a
 * sound index could seem to have lost its data, or an index could be published without some partitions.
 * @throws Error if the topic does not exist, or if the metadata of the broker that answers does not include it yet
 */
export async function partitionCountOf<K, V>({ topic, transport }: TopicDeps<K, V>): Promise<number> {
  return known(topic.name, await transport.partitionCounts([topic.name]))
}

function known<T>(topic: string, facts: ReadonlyMap<string, T>): T {
  const fact = facts.get(topic)
  if (fact === undefined) throw new Error(`topic ${topic} does not exist yet`)
  return fact
}
