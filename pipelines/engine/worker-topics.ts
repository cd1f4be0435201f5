import type { TopicSpec, Transport } from '../../kafka/transport.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import { topicsOf } from './codecs.ts'
import type { Declaration } from './declaration.ts'
import { TopologyError } from './errors.ts'
import { changelogSpec, deadLetterSpec, deadLetterTopicName, repartitionSpec } from './internal-topics.ts'
import { commonPartitions } from './sub-topology.ts'
import type { Topology } from './topology.ts'

/**
 * Makes sure that every topic of a topology is there. Topics of the catalogue are created as it says where they are missing; existing ones
 * may have more partitions than the catalogue says (production does). Internal topics follow the counts found.
 * @returns the partition counts of all topics that are read or written
 * @throws TopologyError when sources that are processed together have different counts; TransportError when an internal topic has another count
 */
export async function prepareTopics(transport: Transport, topology: Topology, declaration: Declaration): Promise<Map<string, number>> {
  const internal = new Set([...declaration.repartitions.values()].map((topic) => topic.name))
  const topics = topicsOf(declaration)
  const catalogue = topics.filter((topic) => !internal.has(topic.name))
  const repartitions = topics.filter((topic) => internal.has(topic.name))

  const existing = await transport.partitionCounts(catalogue.map((topic) => topic.name))
  await transport.ensureTopics(catalogue.filter((topic) => !existing.has(topic.name)).map(catalogueSpec))
  await transport.ensureTopics(repartitions.map((topic) => repartitionSpec(topic.name, topic.partitions)))

  const counts = new Map(topics.map((topic) => [topic.name, existing.get(topic.name) ?? topic.partitions]))
  await transport.ensureTopics([...changelogs(topology, declaration, counts), deadLetterSpec(topology.name)])
  return counts.set(deadLetterTopicName(topology.name), deadLetterSpec(topology.name).partitions)
}

function catalogueSpec({ name, partitions, config }: AnyTopic): TopicSpec {
  return { name, partitions, config }
}

function changelogs(topology: Topology, declaration: Declaration, counts: ReadonlyMap<string, number>): TopicSpec[] {
  return topology.subTopologies.flatMap((part) => {
    const partitions = partitionsOfPart(topology.name, part.sources, counts)
    const logged = part.stores.filter((name) => declaration.stores.get(name)?.logged === true)
    return logged.map((name) => changelogSpec(topology.name, name, partitions))
  })
}

/** Partition count of a sub-topology's sources as the broker has them. */
export function partitionsOfPart(topology: string, sources: readonly string[], counts: ReadonlyMap<string, number>): number {
  const found = sources.map((name) => {
    const partitions = counts.get(name)
    if (partitions === undefined) throw new TopologyError(`topology ${topology}: topic ${name} does not exist`)
    return { name, partitions }
  })
  return commonPartitions(topology, found)
}
