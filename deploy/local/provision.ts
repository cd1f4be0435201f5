import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import * as catalogue from '../../schemas/topics.ts'

/** Every public topic. */
const TOPICS: readonly AnyTopic[] = Object.values(catalogue)

/**
 * Creates the public topics and registers their schemas, so that any producer finds both. Topics that are there keep their partitions: keys
 * would move between them. Throws the reason of a refused schema.
 */
export async function provisionTopics(brokers: string, registryUrl: string, partitionsOf = declaredPartitions): Promise<number> {
  const transport = kafkaTransport(
    { brokers: brokers.split(','), clientId: 'millrace-start' },
    { clock: Date, log: pino({ level: 'silent' }) },
  )
  try {
    await transport.connect()
    const existing = await transport.partitionCounts(TOPICS.map(({ name }) => name))
    await transport.ensureTopics(
      TOPICS.map((topic) => ({ name: topic.name, partitions: existing.get(topic.name) ?? partitionsOf(topic), config: topic.config })),
    )
  } finally {
    await transport.close()
  }
  const registry = registryClient({ url: registryUrl })
  for (const { name, value } of TOPICS) {
    if (value.schema !== undefined) await registry.register(`${name}-value`, JSON.stringify(value.schema))
  }
  return TOPICS.length
}

function declaredPartitions({ partitions }: AnyTopic): number {
  return partitions
}
