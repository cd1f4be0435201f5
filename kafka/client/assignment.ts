import { partitionKey, type TopicPartition } from '../transport.ts'

/**
 * The partitions of one member: its target assignment, the ones it owns, and the ones it last reported to the
 * coordinator.
 */
export interface Assignment {
  /**
   * Takes the target assignment from a response.
   * @param joined true if the member has just joined; even an unchanged target counts as changed then
   * @returns whether the target has changed
   */
  setTarget(partitions: readonly TopicPartition[], joined: boolean): boolean
  /** Returns the target assignment once after each change. */
  takeChangedTarget(): TopicPartition[] | undefined
  /** The partitions that the member owns. */
  readonly owned: readonly TopicPartition[]
  /** Records that the member has given up all other partitions. */
  setOwned(partitions: readonly TopicPartition[]): void
  /** Returns what the next heartbeat must report. */
  nextReport(): OwnershipReport
  /** Makes the next report a full one, because it is unknown which report the coordinator has. */
  forgetReported(): void
  /** Ends the membership: the member owns nothing. */
  clear(): void
}

export interface OwnershipReport {
  /** True when the heartbeat must carry every field, not only the partitions. */
  readonly full: boolean
  /** Undefined when unchanged since the last report. */
  readonly owned: readonly TopicPartition[] | undefined
  /** Call when the coordinator has answered the report. */
  confirmed(): void
}

export function openAssignment(): Assignment {
  let target: readonly TopicPartition[] | undefined
  let changed = false
  let owned: readonly TopicPartition[] = []
  /** The owned partitions as last reported. */
  let reported: string | undefined
  /** Reports created before the last `forgetReported` must not be confirmed. */
  let lastForgotten = 0

  return {
    setTarget(partitions, joined) {
      if (!joined && target !== undefined && describe(target) === describe(partitions)) return false
      target = partitions
      changed = true
      return true
    },
    takeChangedTarget() {
      if (!changed || target === undefined) return undefined
      changed = false
      return [...target]
    },
    get owned() {
      return owned
    },
    setOwned(partitions) {
      owned = [...partitions]
    },
    nextReport() {
      const full = reported === undefined
      const described = describe(owned)
      const madeAt = lastForgotten
      return {
        full,
        owned: full || described !== reported ? owned : undefined,
        confirmed() {
          if (madeAt === lastForgotten) reported = described
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
    },
  }
}

function describe(partitions: readonly TopicPartition[]): string {
  return partitions
    .map(({ topic, partition }) => partitionKey(topic, partition))
    .sort()
    .join(' ')
}
