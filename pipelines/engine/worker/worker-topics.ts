import type { TopicSpec, Transport } from '../../../kafka/transport.ts'
import type { ApartStores } from '../../../state/stores/split-backend.ts'
import { isPositionOf } from '../task/task-place.ts'
import { topicsOf } from '../topology/codecs.ts'
import type { Declaration } from '../topology/declaration.ts'
import { TopologyError } from '../topology/errors.ts'
import { changelogSpec, changelogTopicName, deadLetterSpec, deadLetterTopicName, repartitionSpec } from '../topology/internal-topics.ts'
import { commonPartitions } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'
import type { PreparedTopics } from './partition-counts.ts'

/**
 * Makes sure that all topics of a topology exist. Missing topics are created as declared. Existing topics, including
 * repartition topics, keep their partition counts, because production may use more partitions than the topology
 * declares. New changelogs get the actual counts of their sources. If a source later gets more partitions than the
 * changelogs of its sub-topology, the changelogs stay as they are.
 * @throws TopologyError when sources that are processed together have different counts; TransportError when a changelog
 * has more partitions than the sources
 */
export async function prepareTopics(transport: Transport, topology: Topology, declaration: Declaration): Promise<PreparedTopics> {
  const logs = changelogNames(topology, declaration)
  const internal = new Set([...[...declaration.repartitions.values()].map((topic) => topic.name), ...logs])
  const topics = topicsOf(declaration)
  const names = [...topics.map((topic) => topic.name), ...logs, deadLetterTopicName(topology.name)]
  // One request returns the counts of all topics. After the first start, no further request is needed.
  const existing = await transport.partitionCounts(names)
  const counts = new Map(topics.map(({ name, partitions }) => [name, existing.get(name) ?? partitions]))
  const wanted = [
    ...topics
      .filter(({ name }) => !internal.has(name))
      .map(({ name, config, partitions }) => ({ name, partitions: counts.get(name) ?? partitions, config })),
    ...internalTopics(topology, declaration, counts),
    deadLetterSpec(topology.name),
  ]
  const outgrown = new Set<string>()
  const stateCounts = new Map<number, number>()
  for (const part of topology.subTopologies) {
    const ofPart = loggedStores(part, declaration).map((store) => changelogTopicName(topology.name, store))
    if (ofPart.length === 0) continue
    const count = partitionsOfPart(topology.name, part.sources, counts)
    const built = Math.min(count, ...ofPart.map((name) => existing.get(name) ?? count))
    stateCounts.set(part.index, built)
    if (built < count) for (const name of ofPart) outgrown.add(name)
    // A topology may also emit to one of its own changelogs, for other processes that read it.
    for (const name of ofPart) counts.set(name, built)
  }
  await transport.ensureTopics(wanted.filter(({ name, partitions }) => existing.get(name) !== partitions && !outgrown.has(name)))
  counts.set(deadLetterTopicName(topology.name), deadLetterSpec(topology.name).partitions)
  return { counts, stateCounts }
}

/**
 * Returns the repartition and changelog topics of a topology.
 * @param counts partition counts of the topics that the topology reads, including repartition topics; changelogs get
 * the same counts
 * @throws TopologyError when sources that are processed together have different counts
 */
export function internalTopics(topology: Topology, declaration: Declaration, counts: ReadonlyMap<string, number>): TopicSpec[] {
  const repartitions = [...declaration.repartitions.values()].map((topic) =>
    repartitionSpec(topic.name, counts.get(topic.name) ?? topic.partitions, topic),
  )
  return [...repartitions, ...changelogs(topology, declaration, counts)]
}

function loggedStores({ stores }: { readonly stores: readonly string[] }, declaration: Declaration): string[] {
  return stores.filter((name) => declaration.stores.get(name)?.logged === true)
}

export function changelogNames(topology: Topology, declaration: Declaration): string[] {
  return topology.subTopologies.flatMap((part) => loggedStores(part, declaration).map((store) => changelogTopicName(topology.name, store)))
}

/**
 * Checks that no internal topic belongs to two topologies. A topology `a` with the store `b-c` has the same changelog
 * as a topology `a-b` with the store `c`.
 * @throws TopologyError when two topologies would share a topic
 */
export function checkInternalTopics(topologies: readonly Topology[]): void {
  const owners = new Map<string, string>()
  for (const topology of topologies) {
    const declaration = topology.declare()
    const repartitions = [...declaration.repartitions.values()].map(({ name }) => name)
    for (const name of [...repartitions, ...changelogNames(topology, declaration)]) {
      const owner = owners.get(name) ?? topology.name
      if (owner !== topology.name) {
        throw new TopologyError(
          `topologies ${owner} and ${topology.name} would share the topic ${name}: rename a topology, store or repartition topic`,
        )
      }
      owners.set(name, owner)
    }
  }
}

function changelogs(topology: Topology, declaration: Declaration, counts: ReadonlyMap<string, number>): TopicSpec[] {
  return topology.subTopologies.flatMap((part) => {
    const partitions = partitionsOfPart(topology.name, part.sources, counts)
    const { erasesIds } = topology.options
    return loggedStores(part, declaration).map((name) =>
      changelogSpec(topology.name, name, partitions, { isErasable: declaration.stores.get(name)?.erasable, erasesIds }),
    )
  })
}

/**
 * Returns the common partition count of a sub-topology's sources.
 * @throws TopologyError when a source is missing from `counts`, or when the counts differ
 */
function partitionsOfPart(topology: string, sources: readonly string[], counts: ReadonlyMap<string, number>): number {
  const found = sources.map((name) => {
    const partitions = counts.get(name)
    if (partitions === undefined) throw new TopologyError(`topology ${topology}: topic ${name} does not exist`)
    return { name, partitions }
  })
  return commonPartitions(topology, found)
}

/**
 * Returns a function that looks up the erasable stores of a topology. The database of such stores must be rewritten
 * from time to time.
 * @returns undefined if no topology has erasable stores
 */
export function erasableState(topologies: readonly Topology[]): ((topology: string) => ApartStores | undefined) | undefined {
  const found = new Map(
    topologies.flatMap((topology): [string, ApartStores][] => {
      const names = [...topology.declare().stores.values()].filter(({ erasable }) => erasable === true).map(({ name }) => name)
      const changelogs = names.map((name) => changelogTopicName(topology.name, name))
      const hasPosition = (name: string) => changelogs.some((changelog) => isPositionOf(changelog, name))
      return names.length === 0 ? [] : [[topology.name, { hasStore: (store) => names.includes(store), hasPosition }]]
    }),
  )
  return found.size === 0 ? undefined : (topology) => found.get(topology)
}
