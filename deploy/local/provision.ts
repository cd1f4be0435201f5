import { kafkaTransport } from '../../kafka/client/index.ts'
import { readKafkaSecurity } from '../../kafka/config.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { TopicSpec } from '../../kafka/transport.ts'
import { checkInternalTopics, internalTopics } from '../../pipelines/engine/index.ts'
import { declaredTopologies, type PipelineService } from '../../pipelines/service.ts'
import { pipelineServices } from '../../pipelines/services.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { ServiceSchemas } from '../../schemas/service.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import { serviceSchemas } from '../../schemas/topics.ts'

/** The partition counts of new topics: `local` for one machine, or `production` as planned in docs/operations.md. */
export type PartitionPlan = 'local' | 'production'
/** A partition plan, or a function that returns the partition count of each topic. */
type Partitions = PartitionPlan | ((topic: AnyTopic) => number)

/** The services whose topics are created. */
export interface ProvisionedServices {
  readonly schemas: readonly ServiceSchemas[]
  readonly pipelines: readonly PipelineService[]
}

const ALL_SERVICES: ProvisionedServices = { schemas: serviceSchemas, pipelines: pipelineServices }

/**
 * Creates the public topics and the internal topics of topologies and sinks, and registers the schemas of the public
 * topics. After that, any producer finds its topics and schemas. Workers also create missing topics, but with the
 * partition counts for a small machine. The partition count of an existing topic is never changed, because keys would
 * move between partitions. Existing topics with `erases` get the declared configuration; other existing topics keep
 * their configuration.
 * @param services the services whose topics are created; all by default
 * @param signal when it is aborted, the work ends at its next request
 * @returns the number of public topics
 * @throws Error with the reason when the registry rejects a schema, or when the signal is aborted
 */
export async function provisionTopics(
  brokers: string,
  registryUrl: string,
  partitionsOf: Partitions = 'local',
  services: ProvisionedServices = ALL_SERVICES,
  signal?: AbortSignal,
): Promise<number> {
  signal?.throwIfAborted()
  const transport = kafkaTransport(
    { ...readKafkaSecurity(), brokers: brokers.split(','), clientId: 'millrace-start' },
    { runtime: systemRuntime() },
  )
  // If the transport stayed open, the requests would be retried for two minutes after the brokers have stopped.
  const close = () => void transport.close()
  signal?.addEventListener('abort', close)
  try {
    await transport.connect()
    const existing = await transport.partitionCounts(topicSpecs(partitionsOf, new Map(), services).map(({ name }) => name))
    const specs = topicSpecs(partitionsOf, existing, services)
    await transport.ensureTopics(specs)
    await transport.configureTopics(specs.filter(({ name, erases }) => erases === true && existing.has(name)))
  } finally {
    signal?.removeEventListener('abort', close)
    await transport.close()
  }
  const registry = registryClient({ url: registryUrl })
  const topics = publicTopics(services)
  for (const { name, value } of topics) {
    signal?.throwIfAborted()
    if (value.schema !== undefined) await registry.register(`${name}-value`, JSON.stringify(value.schema))
  }
  return topics.length
}

/**
 * Returns the specifications of all public topics, repartition topics, changelogs and topics of sinks.
 * @param existing partition counts of the existing topics. They are kept, and they determine the partition counts of
 * new changelogs
 */
export function topicSpecs(
  partitionsOf: Partitions,
  existing: ReadonlyMap<string, number> = new Map(),
  services: ProvisionedServices = ALL_SERVICES,
): TopicSpec[] {
  const { pipelines } = services
  const planned = typeof partitionsOf === 'string' ? countsOf(partitionsOf) : partitionsOf
  const declaredOnes = pipelines.flatMap(declaredTopologies)
  checkInternalTopics(declaredOnes)
  const topologies = declaredOnes.map((topology) => ({ topology, declaration: topology.declare() }))
  const repartitions = topologies.flatMap(({ declaration }) => [...declaration.repartitions.values()])
  const ofSinks = pipelines.flatMap(({ sinks }) => sinks).flatMap(({ ownTopics = [] }) => ownTopics)
  // A sink may write a public topic, so a name may occur twice.
  const declared = [...new Map([...publicTopics(services), ...ofSinks].map((topic) => [topic.name, topic])).values()]
  const counts = new Map([...declared, ...repartitions].map((topic) => [topic.name, existing.get(topic.name) ?? planned(topic)]))
  const specs = [
    ...declared.map(({ name, partitions, config, erases }) => ({ name, partitions: counts.get(name) ?? partitions, config, erases })),
    ...topologies.flatMap(({ topology, declaration }) => internalTopics(topology, declaration, counts)),
  ]
  // A public topic may also be a changelog. In that case it gets the partition count of the changelog, which equals the
  // partition count of the store.
  const byName = new Map(specs.map((spec) => [spec.name, spec]))
  return Array.from(byName.values(), (spec) => ({ ...spec, partitions: existing.get(spec.name) ?? spec.partitions }))
}

function publicTopics({ schemas }: ProvisionedServices): readonly AnyTopic[] {
  return schemas.flatMap(({ topics }) => topics)
}

function countsOf(plan: PartitionPlan): (topic: AnyTopic) => number {
  return ({ partitions, productionPartitions }) => (plan === 'production' ? (productionPartitions ?? partitions) : partitions)
}
