import type { TimeMarker } from './time-marker.ts'
import type { TimeStore } from './time-store.ts'

/**
 * Decides which times a later stage can close, from the markers of its upstream partitions and the times that it has
 * already closed.
 */
export interface TimeGate {
  accept(marker: TimeMarker): void
  /**
   * Returns a time that can be closed now; undefined when there is none. A time can be closed if all upstream
   * partitions have sent a marker that covers it. A marker of a first stage also covers all earlier times. A time can
   * also be closed if enough partitions have sent a marker for exactly this time (`CloseWithout`).
   */
  due(): number | undefined
  /** Returns the number of upstream partitions that have sent no marker that covers this time; see `due`. */
  missing(time: number): number
  /** Closes a time. Times are closed in ascending order, each of them at most once. */
  close(time: number): void
  readonly closed: number | undefined
}

/** See `TimeOptions.closeWithout`. */
export interface CloseWithout {
  readonly share: number
  readonly afterMs: number
}

const CLOSED_KEY = 'closed'
const SENT_PREFIX = 'sent/'

/**
 * For a first stage, the gate uses the last marker of each partition, not the highest one. A marker can be lower than
 * an earlier one for two reasons: the partition has a new owner whose clock is slightly behind, or the earlier marker
 * was sent while the clock was ahead. In both cases only the lower time is certain, and later times wait for the next
 * marker.
 *
 * A marker of a first stage also covers all earlier times. A marker of a forwarding stage covers only its own time: a
 * partition of such a stage emits the output of a time only if it has closed exactly that time. A partition that
 * received its markers in a different order may have skipped the time. The gate then does not close that time either,
 * and waits for the next one. A forwarding stage forwards each time once and in ascending order, so a marker that is
 * not higher than the previous one is a repetition.
 * @param stages all stages that send markers into the topic; until every one of them has sent markers, no time is
 * closed
 * @param forwarding those stages that only forward times that they have closed
 * @param store keeps the current marker of each upstream partition, committed with the records before it
 * @param without when a time may be closed although partitions are missing. The markers of the other partitions serve
 * as the clock, so that a stage that reads a backlog finds the same partitions missing as a stage without a backlog.
 */
export function timeGate(stages: readonly string[], forwarding: readonly string[], store: TimeStore, without?: CloseWithout): TimeGate {
  const partitionsKey = (stage: string) => `partitions/${stage}`
  const markerKey = (stage: string, partition: number) => `marker/${stage}/${partition}`

  /** Returns the key under which the store counts the partitions that have sent a marker for exactly this time. */
  const sentKey = (stage: string, time: number) => `${SENT_PREFIX}${time}/${stage}`

  /** Raises a stored value. @returns false when the stored value is already at least as high */
  function raise(key: string, value: number): boolean {
    const known = store.get(key)
    if (known !== undefined && value <= known) return false
    store.put(key, value)
    return true
  }

  function isWhole(time: number): boolean {
    return forwarding.every((stage) => store.get(sentKey(stage, time)) === store.get(partitionsKey(stage)))
  }

  /**
   * Returns the latest time that all partitions of the stage have reached; undefined while a partition has sent no
   * marker.
   */
  function reached(stage: string): number | undefined {
    const partitions = store.get(partitionsKey(stage))
    if (partitions === undefined) return undefined
    let least = Infinity
    for (let partition = 0; partition < partitions; partition++) {
      const time = store.get(markerKey(stage, partition))
      if (time === undefined) return undefined
      if (time < least) least = time
    }
    return least
  }

  function dueWithAll(): number | undefined {
    let least = Infinity
    for (const stage of stages) {
      const time = reached(stage)
      if (time === undefined) return undefined
      if (time < least) least = time
    }
    return isOpen(least) && isWhole(least) ? least : undefined
  }

  function isOpen(time: number): boolean {
    const closed = store.get(CLOSED_KEY)
    return closed === undefined || time > closed
  }

  /**
   * Returns the latest open time for which enough partitions have sent a marker, and which enough partitions have
   * passed by at least `afterMs`; undefined if there is none.
   */
  function dueWithout({ share, afterMs }: CloseWithout): number | undefined {
    const newest = Math.min(...stages.map((stage) => reachedByMost(stage, share))) - afterMs
    let found: number | undefined
    for (const key of store.keys()) {
      if (!key.startsWith(SENT_PREFIX)) continue
      const time = sentTime(key)
      if (time > newest || !isOpen(time) || time <= (found ?? -Infinity)) continue
      if (stages.every((stage) => (store.get(sentKey(stage, time)) ?? 0) >= needed(stage, share))) found = time
    }
    return found
  }

  function needed(stage: string, share: number): number {
    const partitions = store.get(partitionsKey(stage)) ?? 0
    return partitions - Math.floor(partitions * share)
  }

  /**
   * Returns the latest time that enough partitions have reached (a share of at least 1 - `share`); -Infinity if there
   * is none.
   */
  function reachedByMost(stage: string, share: number): number {
    return markersOf(stage).sort((a, b) => b - a)[needed(stage, share) - 1] ?? -Infinity
  }

  /** Returns the current marker of each partition. For a partition that has sent no marker, the value is -Infinity. */
  function markersOf(stage: string): number[] {
    const partitions = store.get(partitionsKey(stage)) ?? 0
    return Array.from({ length: partitions }, (_, partition) => store.get(markerKey(stage, partition)) ?? -Infinity)
  }

  return {
    accept({ stage, partition, partitions, time }) {
      raise(partitionsKey(stage), partitions)
      const key = markerKey(stage, partition)
      const isLater = time > (store.get(key) ?? -Infinity)
      const counts = without !== undefined || forwarding.includes(stage)
      if (counts && isLater && isOpen(time)) store.put(sentKey(stage, time), (store.get(sentKey(stage, time)) ?? 0) + 1)
      if (!forwarding.includes(stage)) store.put(key, time)
      else raise(key, time)
    },
    due() {
      return dueWithAll() ?? (without && dueWithout(without))
    },
    missing(time) {
      let missing = 0
      for (const stage of stages) {
        if (forwarding.includes(stage)) missing += (store.get(partitionsKey(stage)) ?? 0) - (store.get(sentKey(stage, time)) ?? 0)
        else missing += markersOf(stage).filter((marker) => marker < time).length
      }
      return missing
    },
    close(time) {
      store.put(CLOSED_KEY, time)
      for (const key of [...store.keys()]) if (key.startsWith(SENT_PREFIX) && sentTime(key) <= time) store.delete(key)
    },
    get closed() {
      return store.get(CLOSED_KEY)
    },
  }
}

function sentTime(key: string): number {
  return Number.parseInt(key.slice(SENT_PREFIX.length), 10)
}
