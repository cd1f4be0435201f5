import type { TopicSpec, Transport } from '../../../kafka/transport.ts'
import { topicsOf } from '../topology/codecs.ts'
import type { Declaration } from '../topology/declaration.ts'
import { TopologyError } from '../topology/errors.ts'
import { changelogSpec, changelogTopicName, deadLetterSpec, deadLetterTopicName, repartitionSpec } from '../topology/internal-topics.ts'
import { commonPartitions } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'

/**
 * Makes sure that every topic of a topology is there. Missing ones are created as declared; those that are there keep the partitions that they
 * have, repartition topics too (production has more). Changelogs follow the counts found.
 * @returns the partition counts of all topics that are read or written
 * @throws TopologyError when sources that are processed together have different counts; TransportError when a changelog has another count
 */
export async function prepareTopics(transport: Transport, topology: Topology, declaration: Declaration): Promise<Map<string, number>> {
  const internal = new Set([...declaration.repartitions.values()].map((topic) => topic.name))
  const topics = topicsOf(declaration)
  const names = [...topics.map((topic) => topic.name), ...changelogNames(topology, declaration), deadLetterTopicName(topology.name)]
  // Of all at once: at every start but the first nothing else has to be asked.
  const existing = await transport.partitionCounts(names)
  const counts = new Map(topics.map(({ name, partitions }) => [name, existing.get(name) ?? partitions]))
  const wanted = [
    ...topics
      .filter(({ name }) => !internal.has(name))
      .map(({ name, config, partitions }) => ({ name, partitions: counts.get(name) ?? partitions, config })),
    ...internalTopics(topology, declaration, counts),
    deadLetterSpec(topology.name),
  ]
  await transport.ensureTopics(wanted.filter(({ name, partitions }) => existing.get(name) !== partitions))
  return counts.set(deadLetterTopicName(topology.name), deadLetterSpec(topology.name).partitions)
}

/**
 * The repartition and changelog topics of a topology.
 * @param counts partitions of the topics that it reads, repartition topics included; changelogs follow them
 * @throws TopologyError when sources that are processed together have different counts
 */
export function internalTopics(topology: Topology, declaration: Declaration, counts: ReadonlyMap<string, number>): TopicSpec[] {
  const repartitions = [...declaration.repartitions.values()].map(({ name, partitions }) =>
    repartitionSpec(name, counts.get(name) ?? partitions),
  )
  return [...repartitions, ...changelogs(topology, declaration, counts)]
}

function loggedStores({ stores }: { readonly stores: readonly string[] }, declaration: Declaration): string[] {
  return stores.filter((name) => declaration.stores.get(name)?.logged === true)
}

function changelogNames(topology: Topology, declaration: Declaration): string[] {
  return topology.subTopologies.flatMap((part) => loggedStores(part, declaration).map((store) => changelogTopicName(topology.name, store)))
}

function changelogs(topology: Topology, declaration: Declaration, counts: ReadonlyMap<string, number>): TopicSpec[] {
  return topology.subTopologies.flatMap((part) => {
    const partitions = partitionsOfPart(topology.name, part.sources, counts)
    return loggedStores(part, declaration).map((name) => changelogSpec(topology.name, name, partitions))
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
