import type { TimeMarker } from './time-marker.ts'
import type { TimeStore } from './time-store.ts'

/** The state of time in a later stage: the markers from its upstream partitions, and the times that it has closed. */
export interface TimeGate {
  accept(marker: TimeMarker): void
  /**
   * Returns the time that can be closed now, because all upstream partitions have sent a marker for it or (in a first
   * stage) for a later time. Undefined when there is none.
   */
  due(): number | undefined
  /** Closes a time. Times are closed in ascending order, each of them once. */
  close(time: number): void
  readonly closed: number | undefined
}

const CLOSED_KEY = 'closed'
const SENT_PREFIX = 'sent/'

/**
 * For a first stage, the last marker of a partition counts, not the highest one. A lower marker comes from a new owner
 * of the partition whose clock is slightly behind, or the higher one was sent while the clock was ahead. In both cases
 * only the lower time is certain, and later times wait for the next marker.
 *
 * A forwarding stage forwards each time that it has closed, once and in ascending order, so an earlier marker is a
 * repetition. A later marker of a first stage also covers earlier times. This is not so for a forwarding stage: its
 * handlers emit the output of a time only in partitions that have closed exactly that time, and a partition that
 * received its markers in another order may have skipped it. Such a time is not closed here either; the gate waits for
 * the next one.
 * @param stages all stages that send markers into the topic; until every one of them has sent markers, no time is
 * closed
 * @param forwarding the stages among them that only forward times that they have closed
 * @param store keeps the current marker of each upstream partition, committed with the records before it
 */
export function timeGate(stages: readonly string[], forwarding: readonly string[], store: TimeStore): TimeGate {
  const partitionsKey = (stage: string) => `partitions/${stage}`
  const markerKey = (stage: string, partition: number) => `marker/${stage}/${partition}`

  /** Key of the number of partitions that have sent exactly this time. */
  const sentKey = (stage: string, time: number) => `${SENT_PREFIX}${time}/${stage}`

  /** @returns false when the value is already as high */
  function raise(key: string, value: number): boolean {
    const known = store.get(key)
    if (known !== undefined && value <= known) return false
    store.put(key, value)
    return true
  }

  function isWhole(time: number): boolean {
    return forwarding.every((stage) => store.get(sentKey(stage, time)) === store.get(partitionsKey(stage)))
  }

  /** Returns the time that all partitions of the stage have reached. */
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

  return {
    accept({ stage, partition, partitions, time }) {
      raise(partitionsKey(stage), partitions)
      const key = markerKey(stage, partition)
      if (!forwarding.includes(stage)) store.put(key, time)
      else if (raise(key, time)) store.put(sentKey(stage, time), (store.get(sentKey(stage, time)) ?? 0) + 1)
    },
    due() {
      let least = Infinity
      for (const stage of stages) {
        const time = reached(stage)
        if (time === undefined) return undefined
        if (time < least) least = time
      }
      const closed = store.get(CLOSED_KEY)
      return (closed === undefined || least > closed) && isWhole(least) ? least : undefined
    },
    close(time) {
      store.put(CLOSED_KEY, time)
      for (const key of [...store.keys()])
        if (key.startsWith(SENT_PREFIX) && Number.parseInt(key.slice(SENT_PREFIX.length), 10) <= time) store.delete(key)
    },
    get closed() {
      return store.get(CLOSED_KEY)
    },
  }
}
