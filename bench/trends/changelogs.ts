import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport } from '../../kafka/transport.ts'
import { rareTerm } from '../../pipelines/trends/rare-terms.ts'
import { decimalInt, utf8 } from '../../schemas/keys.ts'
import { avro } from '../../schemas/load.ts'
import type { Topic } from '../../schemas/topic.ts'
import { termOfKey } from '../../schemas/trends/term.ts'
import { topicProducer } from '../../tools/topic-producer.ts'

/** The changelog of a store, and how the rows of the store are distributed over its partitions. */
interface Changelog<K, V> {
  readonly topic: Topic<K, V>
  /** Returns the bytes whose hash determines the partition of a key. Omitted if the key itself is hashed. */
  readonly partitionBy?: (key: K) => Uint8Array
}

/** Changelogs of the trends pipeline, for programs that write its state while no worker is running. */
export const changelogs = {
  /** The baselines, by region and term. The baselines of a term in all regions are in the same partition. */
  usual: {
    topic: { name: 'trends-usual-changelog', key: utf8, value: avro('trends/TermBaseline'), partitions: 4 },
    partitionBy: (key: string) => Buffer.from(termOfKey(key)),
  },
  /**
   * One row per term. The row of a rare term contains its contributions. The row of a frequent term only records that
   * the term is frequent. Only frequent terms can have baselines.
   */
  rareTweets: { topic: { name: 'trends-rare-tweets-changelog', key: utf8, value: rareTerm, partitions: 4 } },
  /** The earlier lists of each region. */
  history: { topic: { name: 'trends-history-changelog', key: decimalInt, value: avro('trends/RegionHistory'), partitions: 4 } },
} as const

/** Writes rows of a store to its changelog. */
export async function fillChangelog<K, V>(
  { topic, partitionBy }: Changelog<K, V>,
  rows: Iterable<readonly [key: K, row: V]>,
  transport: Transport,
  registry: SchemaRegistry,
): Promise<void> {
  const producer = await topicProducer(topic, partitionBy)(transport, registry)
  const now = Date.now()
  for (const [key, row] of rows) {
    producer.send(key, row, now)
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}
