import type { AnyTopic } from '../../../schemas/topic.ts'
import { type Declaration, nodesOf, type StreamDeclaration } from './declaration.ts'
import { TopologyError } from './errors.ts'

/** Streams that share state, and are therefore processed together, partition by partition. */
export interface SubTopology {
  readonly index: number
  /** The source topics, in order of declaration. */
  readonly sources: readonly string[]
  readonly stores: readonly string[]
  /** The declared partition count of every source; the broker's count may differ. */
  readonly partitions: number
}

/**
 * Splits the streams of a declaration into groups. Streams in different groups share no store and are connected only
 * through topics.
 */
export function subTopologies(declaration: Declaration): SubTopology[] {
  const { topology, streams } = declaration
  if (streams.length === 0) throw new TopologyError(`topology ${topology} reads nothing: declare a source`)
  checkRepartitions(declaration)
  checkTimeMarkers(declaration)
  return connected(streams).map((group, index) => ({
    index,
    sources: group.map((stream) => stream.topic.name),
    stores: storesOf(declaration, group),
    partitions: commonPartitions(
      topology,
      group.map((stream) => ({ name: stream.topic.name, partitions: stream.topic.partitions })),
    ),
  }))
}

/**
 * Checks that all sources of a sub-topology have the same partition count. They are processed together, partition by
 * partition, so records with the same key must be in partitions with the same number.
 * @returns the partition count that the sources share
 * @throws TopologyError if the counts differ
 */
export function commonPartitions(topology: string, sources: readonly { name: string; partitions: number }[]): number {
  const [first, ...rest] = sources
  const odd = rest.find((source) => source.partitions !== first.partitions)
  if (odd === undefined) return first.partitions
  throw new TopologyError(
    `topology ${topology}: ${first.name} has ${first.partitions} partitions and ${odd.name} has ${odd.partitions}, but their processors share state: ` +
      'give both topics the same partition count, or send the records of one of them through a repartition topic',
  )
}

/** Returns the groups of streams that are connected by shared stores, in order of their first stream. */
function connected(streams: readonly StreamDeclaration[]): StreamDeclaration[][] {
  const groups: { streams: StreamDeclaration[]; stores: Set<string> }[] = []
  for (const stream of streams) {
    const stores = new Set(storeNames(stream))
    const touching = groups.filter((group) => [...stores].some((store) => group.stores.has(store)))
    const merged = touching[0] ?? { streams: [], stores: new Set<string>() }
    for (const other of touching.slice(1)) {
      merged.streams.push(...other.streams)
      for (const store of other.stores) merged.stores.add(store)
      groups.splice(groups.indexOf(other), 1)
    }
    merged.streams.push(stream)
    for (const store of stores) merged.stores.add(store)
    if (touching.length === 0) groups.push(merged)
  }
  return groups.map((group) => streams.filter((stream) => group.streams.includes(stream)))
}

function storeNames(stream: StreamDeclaration): string[] {
  const named = nodesOf(stream).flatMap((node) => node.stores.map((store) => store.name))
  return stream.timeStore === undefined ? named : [...named, stream.timeStore.name]
}

/** Returns the stores of a group, in the order in which the topology's nodes first name them. */
function storesOf(declaration: Declaration, group: readonly StreamDeclaration[]): string[] {
  const used = new Set(group.flatMap(storeNames))
  return [...declaration.stores.keys()].filter((store) => used.has(store))
}

function emittedTopics(declaration: Declaration): Set<AnyTopic> {
  const topics = declaration.streams.flatMap((stream) => [
    ...nodesOf(stream).flatMap((node) => node.emits),
    ...stream.timeMarks.map((mark) => mark.to),
    ...stream.timeHandlers.flatMap((handler) => handler.forwardTo ?? []),
    ...(stream.options.lateOutput === undefined ? [] : [stream.options.lateOutput]),
  ])
  return new Set(topics)
}

function checkRepartitions(declaration: Declaration): void {
  const emitted = new Set([...emittedTopics(declaration)].map((topic) => topic.name))
  const read = new Set(declaration.streams.map((stream) => stream.topic.name))
  for (const [name, topic] of declaration.repartitions) {
    if (!read.has(topic.name))
      throw new TopologyError(`topology ${declaration.topology}: nothing reads the repartition topic ${name}: pass it to source()`)
    if (!emitted.has(topic.name))
      throw new TopologyError(
        `topology ${declaration.topology}: nothing emits to the repartition topic ${name}: name it in a processor's \`emits\``,
      )
  }
}

function checkTimeMarkers(declaration: Declaration): void {
  const read = new Set(declaration.streams.map((stream) => stream.topic.name))
  for (const stream of declaration.streams) {
    const marked = [...stream.timeMarks.map(({ to }) => to), ...stream.timeHandlers.flatMap(({ forwardTo }) => forwardTo ?? [])]
    const unread = marked.find((topic) => !read.has(topic.name))
    // A topology may send markers only to topics that it reads. To other readers, a marker would be a record without a
    // key or a value.
    if (unread !== undefined)
      throw new TopologyError(
        `topology ${declaration.topology}: ${stream.topic.name} sends time markers to ${unread.name}, but the topology does not read ${unread.name}`,
      )
    if (stream.timeHandlers.length > 0 && timeStagesInto(declaration, stream.topic.name).length === 0)
      throw new TopologyError(
        `topology ${declaration.topology}: ${stream.timeHandlers[0].name} waits for time markers on ${stream.topic.name}, but no stage sends any: use markTime or forwardTo with this topic`,
      )
    if (stream.timeHandlers.some((handler) => handler.forwardTo?.name === stream.topic.name))
      throw new TopologyError(`topology ${declaration.topology}: ${stream.topic.name} forwards its time markers to itself`)
  }
}

/**
 * Returns the stages that send time markers into a topic. A stage is named after the topic that it reads. A later stage
 * waits for markers from all of these stages.
 */
export function timeStagesInto(declaration: Declaration, topic: string): string[] {
  return declaration.streams
    .filter(
      (stream) =>
        stream.timeMarks.some((mark) => mark.to.name === topic) || stream.timeHandlers.some((handler) => handler.forwardTo?.name === topic),
    )
    .map((stream) => stream.topic.name)
}

/**
 * Returns those stages from `timeStagesInto` that send no markers of their own and only forward the times that they
 * close.
 */
export function forwardingStagesInto(declaration: Declaration, topic: string): string[] {
  return declaration.streams
    .filter(
      (stream) =>
        stream.timeHandlers.some((handler) => handler.forwardTo?.name === topic) &&
        !stream.timeMarks.some((mark) => mark.to.name === topic),
    )
    .map((stream) => stream.topic.name)
}
