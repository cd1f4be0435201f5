import { partitionKey, type TopicPartition } from '../transport.ts'

/** The partitions of one member: its target assignment, the ones it owns, and the ones it has last reported to the coordinator. */
export interface Assignment {
  /**
   * Takes the target assignment from an answer.
   * @param joined the member has just joined, so that even an unchanged target counts as changed
   * @returns whether it has changed
   */
  setTarget(partitions: readonly TopicPartition[], joined: boolean): boolean
  /** The target assignment, once after each change. */
  takeChangedTarget(): TopicPartition[] | undefined
  /** The member has given up everything else. */
  setOwned(partitions: readonly TopicPartition[]): void
  /** What the next heartbeat has to report. */
  nextReport(): OwnershipReport
  /** What the coordinator knows is unknown: the next report is a full one. */
  forgetReported(): void
  /** The membership is over: nothing is owned. */
  clear(): void
}

export interface OwnershipReport {
  /** The heartbeat must carry every field, not only the partitions. */
  readonly full: boolean
  /** Undefined: unchanged since the last report. */
  readonly owned: readonly TopicPartition[] | undefined
  /** The coordinator has answered it. */
  confirmed(): void
}

export function openAssignment(): Assignment {
  let target: readonly TopicPartition[] | undefined
  let changed = false
  let owned: readonly TopicPartition[] = []
  /** `owned` as it was last reported. */
  let reported: string | undefined
  /** Reports from before the last `forgetReported` confirm nothing. */
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
