import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { TopicSpec } from '../../kafka/transport.ts'
import { internalTopics } from '../../pipelines/engine/index.ts'
import { declaredTopologies } from '../../pipelines/service.ts'
import { pipelineServices } from '../../pipelines/services.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { topics } from '../../schemas/catalogue.ts'
import type { AnyTopic } from '../../schemas/topic.ts'

/** For one machine, or as docs/operations.md plans. */
export type PartitionPlan = 'local' | 'production'
/** A plan, or a count for each topic. */
type Partitions = PartitionPlan | ((topic: AnyTopic) => number)

/**
 * Creates the public topics and those that topologies make for themselves, and registers the schemas of the public ones, so that any producer
 * finds both. Workers create missing topics too, but with the partitions of a small machine. Topics that are there keep their partitions,
 * because keys would move between them. Throws the reason of a refused schema.
 * @returns how many topics are public
 */
export async function provisionTopics(brokers: string, registryUrl: string, partitionsOf: Partitions = 'local'): Promise<number> {
  const transport = kafkaTransport({ brokers: brokers.split(','), clientId: 'millrace-start' }, { runtime: systemRuntime() })
  try {
    await transport.connect()
    const existing = await transport.partitionCounts(topicSpecs(partitionsOf).map(({ name }) => name))
    await transport.ensureTopics(topicSpecs(partitionsOf, existing))
  } finally {
    await transport.close()
  }
  const registry = registryClient({ url: registryUrl })
  for (const { name, value } of topics) {
    if (value.schema !== undefined) await registry.register(`${name}-value`, JSON.stringify(value.schema))
  }
  return topics.length
}

/**
 * Every public, repartition and changelog topic.
 * @param existing partitions of the topics that are there; changelogs follow them
 */
export function topicSpecs(partitionsOf: Partitions, existing: ReadonlyMap<string, number> = new Map()): TopicSpec[] {
  const planned = typeof partitionsOf === 'string' ? countsOf(partitionsOf) : partitionsOf
  const topologies = pipelineServices.flatMap(declaredTopologies).map((topology) => ({ topology, declaration: topology.declare() }))
  const repartitions = topologies.flatMap(({ declaration }) => [...declaration.repartitions.values()])
  const counts = new Map([...topics, ...repartitions].map((topic) => [topic.name, existing.get(topic.name) ?? planned(topic)]))
  const specs = [
    ...topics.map(({ name, partitions, config }) => ({ name, partitions: counts.get(name) ?? partitions, config })),
    ...topologies.flatMap(({ topology, declaration }) => internalTopics(topology, declaration, counts)),
  ]
  return specs.map((spec) => ({ ...spec, partitions: existing.get(spec.name) ?? spec.partitions }))
}

function countsOf(plan: PartitionPlan): (topic: AnyTopic) => number {
  return ({ partitions, productionPartitions }) => (plan === 'production' ? (productionPartitions ?? partitions) : partitions)
}
