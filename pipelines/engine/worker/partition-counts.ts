import type { TopicPartition } from '../../../kafka/transport.ts'
import type { SubTopology } from '../topology/sub-topology.ts'

/**
 * The partition counts of a topology's topics, and the tasks that result from them. The counts may grow while a worker
 * runs.
 */
export interface PartitionCounts {
  /** The partition counts of all topics that are read or written, keyed by topic. */
  readonly topics: ReadonlyMap<string, number>
  /** Returns the number of tasks of a sub-topology; 0 if its state was built for fewer partitions than a source has. */
  tasksOf(part: SubTopology): number
  /** Explains why some partitions have no task, with one text for each affected sub-topology. */
  readonly withoutTask: readonly string[]
  /** The topics that no longer existed when they were last looked up. */
  readonly missing: readonly string[]
  /** Notes which topics are missing from `found`. @returns those that were not missing before */
  noteMissing(found: ReadonlyMap<string, number>): string[]
  /** Returns true if the partition was added after the worker had started. */
  isNew(partition: TopicPartition): boolean
  /** Returns the topics that have gained partitions. */
  grownIn(found: ReadonlyMap<string, number>): string[]
  /** Applies larger counts. The partition counts of topics never decrease, unless a topic is created again. */
  update(found: ReadonlyMap<string, number>): void
}

/** The partition counts on the brokers when a worker starts. */
export interface PreparedTopics {
  readonly counts: ReadonlyMap<string, number>
  /**
   * Partition counts of the changelogs, keyed by the index of the sub-topology. Sub-topologies without a changelog are
   * absent.
   */
  readonly stateCounts: ReadonlyMap<number, number>
}

export function partitionCounts(topology: string, parts: readonly SubTopology[], prepared: PreparedTopics): PartitionCounts {
  const { counts: first, stateCounts } = prepared
  const topics = new Map(first)
  let missing: readonly string[] = []

  const countOf = (topic: string) => topics.get(topic) ?? 0
  const differs = ({ sources }: SubTopology) => sources.some((source) => countOf(source) !== countOf(sources[0]))

  function misfit(part: SubTopology): string | undefined {
    const { sources } = part
    const built = stateCounts.get(part.index)
    const listed = sources.map((source) => `${source} has ${countOf(source)} partitions`).join(', ')
    if (built !== undefined && sources.some((source) => countOf(source) !== built))
      return (
        `${listed}, but the state (${part.stores.join(', ')}) was built with ${built}: keys are now in different partitions from their state. ` +
        "The engine cannot move the state, because it does not know which of a store's keys belong to which key of a record: " +
        `rebuild the state (docs/operations.md, "A topic gets more partitions"; group and topology ${topology})`
      )
    return differs(part) ? `${listed}: add partitions until the counts are equal` : undefined
  }

  return {
    topics,
    tasksOf(part) {
      const built = stateCounts.get(part.index)
      if (built !== undefined && misfit(part) !== undefined) return 0
      return Math.min(...part.sources.map(countOf))
    },
    get withoutTask() {
      return parts.flatMap((part) => misfit(part) ?? [])
    },
    get missing() {
      return missing
    },
    noteMissing(found) {
      const before = missing
      missing = [...topics.keys()].filter((topic) => !found.has(topic))
      return missing.filter((topic) => !before.includes(topic))
    },
    isNew: ({ topic, partition }) => partition >= (first.get(topic) ?? Infinity),
    grownIn: (found) => [...topics.keys()].filter((topic) => (found.get(topic) ?? 0) > countOf(topic)),
    update(found) {
      for (const [topic, count] of topics) topics.set(topic, Math.max(count, found.get(topic) ?? 0))
    },
  }
}
