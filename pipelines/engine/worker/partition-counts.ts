import type { TopicPartition } from '../../../kafka/transport.ts'
import type { SubTopology } from '../topology/sub-topology.ts'

/**
 * The partition counts of a topology's topics, and the tasks that result from them. The counts may grow while a worker
 * runs.
 */
export interface PartitionCounts {
  /** The partition counts of all topics that are read or written, keyed by topic. */
  readonly topics: ReadonlyMap<string, number>
  /**
   * Returns the number of tasks of a sub-topology; 0 if the partition count of a source differs from the count with
   * which the state was built.
   */
  tasksOf(part: SubTopology): number
  /** Explains why some partitions have no task, with one text for each affected sub-topology. */
  readonly withoutTask: readonly string[]
  /**
   * The topics that the last two answers lacked. A single answer proves nothing, because it may come from a broker that
   * has fallen behind.
   */
  readonly missing: readonly string[]
  /** True when the last answer lacked a topic that the previous answer contained. */
  readonly mayBeMissing: boolean
  /** Notes which topics are missing from an answer. @returns the topics that this call has added to `missing` */
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
  /** The topics that the last answer lacked. */
  let absent: readonly string[] = []

  const countOf = (topic: string) => topics.get(topic) ?? 0
  const differs = ({ sources }: SubTopology) => sources.some((source) => countOf(source) !== countOf(sources[0]))

  function misfit(part: SubTopology): string | undefined {
    const { sources } = part
    const built = stateCounts.get(part.index)
    const listed = sources.map((source) => `${source} has ${countOf(source)} partitions`).join(', ')
    if (built !== undefined && sources.some((source) => countOf(source) !== built))
      return (
        `${listed}, but the state (${part.stores.join(', ')}) was built with ${built}: keys are now in different partitions from their state. ` +
        'The engine cannot move the state, because it cannot determine which store keys belong to which record key: ' +
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
    get mayBeMissing() {
      return absent.length > missing.length
    },
    noteMissing(found) {
      const [before, absentBefore] = [missing, absent]
      absent = [...topics.keys()].filter((topic) => !found.has(topic))
      missing = absent.filter((topic) => absentBefore.includes(topic))
      return missing.filter((topic) => !before.includes(topic))
    },
    isNew: ({ topic, partition }) => partition >= (first.get(topic) ?? Infinity),
    grownIn: (found) => [...topics.keys()].filter((topic) => (found.get(topic) ?? 0) > countOf(topic)),
    update(found) {
      for (const [topic, count] of topics) topics.set(topic, Math.max(count, found.get(topic) ?? 0))
    },
  }
}
