import { partitionKey, type TopicPartition } from '../transport.ts'

/**
 * Three sets of partitions of one member: those of its target assignment, those that it owns, and those that it last
 * reported to the coordinator.
 */
export interface Assignment {
  /**
   * Stores the target assignment that a response contains.
   * @param joined true if the member has just joined; in that case even an unchanged target counts as changed
   * @returns whether the target has changed
   */
  setTarget(partitions: readonly TopicPartition[], joined: boolean): boolean
  /**
   * True if the target assignment has changed since it was last taken, and the coordinator has confirmed what the
   * member owns. When the coordinator gets a report, it may take away every partition that the report does not list. A
   * target that was received before the response to the report may therefore contain partitions that now belong to
   * another member.
   */
  readonly hasChangedTarget: boolean
  /** Returns the target assignment if `hasChangedTarget`; undefined otherwise. */
  takeChangedTarget(): TopicPartition[] | undefined
  /** The partitions that the member owns. */
  readonly owned: readonly TopicPartition[]
  /**
   * Sets the partitions that the member owns now. The next report contains them even if they have not changed, because
   * the coordinator may have assigned and revoked a partition in the meantime. The coordinator gives such a partition
   * to another member only after it has received a report that does not list the partition.
   */
  setOwned(partitions: readonly TopicPartition[]): void
  /** Returns the ownership report for the next heartbeat. */
  nextReport(): OwnershipReport
  /**
   * Makes the next report a full one, for example because it is unknown whether the coordinator has received the last
   * report.
   */
  forgetReported(): void
  /** Forgets the target assignment and the owned partitions. Must be called when the membership ends. */
  clear(): void
}

export interface OwnershipReport {
  /** True when the heartbeat must contain every field, not only the partitions. */
  readonly full: boolean
  /**
   * The owned partitions. Undefined in a report that is not full, if they have not been set since the last confirmed
   * report.
   */
  readonly owned: readonly TopicPartition[] | undefined
  /** Must be called when the coordinator has accepted the report. */
  confirmed(): void
}

export function openAssignment(): Assignment {
  let target: readonly TopicPartition[] | undefined
  let changed = false
  let owned: readonly TopicPartition[] = []
  /** Number of times that `owned` was set. */
  let version = 0
  /** The version of `owned` in the last confirmed report; undefined if the next report must be full. */
  let reported: number | undefined
  /**
   * Number of calls of `forgetReported`. If it has changed since a report was created, the confirmation of that report
   * is ignored.
   */
  let lastForgotten = 0

  const hasChangedTarget = () => changed && target !== undefined && reported === version

  return {
    setTarget(partitions, joined) {
      if (!joined && target !== undefined && describe(target) === describe(partitions)) return false
      target = partitions
      changed = true
      return true
    },
    get hasChangedTarget() {
      return hasChangedTarget()
    },
    takeChangedTarget() {
      if (!hasChangedTarget()) return undefined
      changed = false
      return [...(target as readonly TopicPartition[])]
    },
    get owned() {
      return owned
    },
    setOwned(partitions) {
      owned = [...partitions]
      version++
    },
    nextReport() {
      const full = reported === undefined
      const reporting = version
      const madeAt = lastForgotten
      return {
        full,
        owned: full || reporting !== reported ? owned : undefined,
        confirmed() {
          if (madeAt === lastForgotten) reported = reporting
        },
      }
    },
    forgetReported() {
      lastForgotten++
      reported = undefined
    },
    clear() {
      target = undefined
      changed = false
      owned = []
      version++
    },
  }
}

function describe(partitions: readonly TopicPartition[]): string {
  return partitions
    .map(({ topic, partition }) => partitionKey(topic, partition))
    .sort()
    .join(' ')
}
