import { partitionKey, type TopicPartition } from '../transport.ts'

/** The partitions of one membership: what the coordinator wants owned here, what is owned, and what of it the coordinator has heard. */
export interface Assignment {
  /** Takes what an answer says. @param anew the member has just joined: everything is news. @returns whether it is news */
  want(partitions: readonly TopicPartition[], anew: boolean): boolean
  /** What is wanted, once after each change. */
  takeNews(): TopicPartition[] | undefined
  /** What the coordinator wants given up is given up. */
  own(partitions: readonly TopicPartition[]): void
  /** What a heartbeat has to say. */
  claim(): Claim
  /** What the coordinator has heard is unknown: the next claim says everything. */
  unheard(): void
  /** The membership is over: nothing is owned. */
  forget(): void
}

export interface Claim {
  /** The coordinator must be told everything, not only the partitions. */
  readonly full: boolean
  /** Undefined: as it has heard. */
  readonly owned: readonly TopicPartition[] | undefined
  /** It was answered. */
  heard(): void
}

export function openAssignment(): Assignment {
  let target: readonly TopicPartition[] | undefined
  let news = false
  let owned: readonly TopicPartition[] = []
  /** `owned` as the coordinator last heard it. */
  let reported: string | undefined
  /** Claims that were made before the last `unheard` do not say what has changed since. */
  let lastUnheard = 0

  return {
    want(partitions, anew) {
      if (!anew && target !== undefined && describe(target) === describe(partitions)) return false
      target = partitions
      news = true
      return true
    },
    takeNews() {
      if (!news || target === undefined) return undefined
      news = false
      return [...target]
    },
    own(partitions) {
      owned = [...partitions]
    },
    claim() {
      const full = reported === undefined
      const described = describe(owned)
      const madeAt = lastUnheard
      return {
        full,
        owned: full || described !== reported ? owned : undefined,
        heard() {
          if (madeAt === lastUnheard) reported = described
        },
      }
    },
    unheard() {
      lastUnheard++
      reported = undefined
    },
    forget() {
      target = undefined
      news = false
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
