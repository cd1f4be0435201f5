import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { TopicSpec } from '../../kafka/transport.ts'
import { repartitionSpec } from '../../pipelines/engine/topology/internal-topics.ts'
import { trends } from '../../pipelines/trends/topology.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import { topics } from '../../schemas/topics.ts'

/** Every public topic. */
const TOPICS: readonly AnyTopic[] = topics
/** Topics between the stages of one pipeline. Workers create them too, with the partitions of a small machine. */
const REPARTITION_TOPICS: readonly AnyTopic[] = [...trends.declare().repartitions.values()]

/** For one machine, or as docs/operations.md plans. */
export type PartitionPlan = 'local' | 'production'
/** A plan, or a count for each topic. */
type Partitions = PartitionPlan | ((topic: AnyTopic) => number)

/**
 * Creates the public topics and those between stages, and registers the schemas of the public ones, so that any producer finds both. Topics that are
 * there keep their partitions: keys would move between them. Throws the reason of a refused schema.
 * @returns how many topics are public
 */
export async function provisionTopics(
  brokers: string,
  registryUrl: string,
  partitionsOf: PartitionPlan | ((topic: AnyTopic) => number) = 'local',
): Promise<number> {
  const transport = kafkaTransport({ brokers: brokers.split(','), clientId: 'millrace-start' }, { runtime: systemRuntime() })
  try {
    await transport.connect()
    const specs = topicSpecs(partitionsOf)
    const existing = await transport.partitionCounts(specs.map(({ name }) => name))
    await transport.ensureTopics(specs.map((spec) => ({ ...spec, partitions: existing.get(spec.name) ?? spec.partitions })))
  } finally {
    await transport.close()
  }
  const registry = registryClient({ url: registryUrl })
  for (const { name, value } of TOPICS) {
    if (value.schema !== undefined) await registry.register(`${name}-value`, JSON.stringify(value.schema))
  }
  return TOPICS.length
}

/** What is created where it is missing. */
export function topicSpecs(partitionsOf: Partitions): TopicSpec[] {
  const count = typeof partitionsOf === 'string' ? planned(partitionsOf) : partitionsOf
  return [
    ...TOPICS.map((topic) => ({ name: topic.name, partitions: count(topic), config: topic.config })),
    ...REPARTITION_TOPICS.map((topic) => repartitionSpec(topic.name, count(topic))),
  ]
}

function planned(plan: PartitionPlan): (topic: AnyTopic) => number {
  return ({ partitions, productionPartitions }) => (plan === 'production' ? (productionPartitions ?? partitions) : partitions)
}
