import type { TimeMarker } from './time-marker.ts'
import type { TimeStore } from './time-store.ts'

/** A later stage's view of time: what its upstream partitions have sent, and what it has closed. */
export interface TimeGate {
  accept(marker: TimeMarker): void
  /** The time that may be closed now: all upstream partitions have sent a marker of it or (a first stage's) a later one. Undefined when there is none. */
  due(): number | undefined
  /** Times are closed in ascending order, each once. */
  close(time: number): void
  readonly closed: number | undefined
}

const CLOSED_KEY = 'closed'
const SENT_PREFIX = 'sent/'

/**
 * @param stages every stage that sends markers into the topic: one that was never heard of holds time back, it is not counted as zero
 * Of a first stage's partition the last marker counts, not the highest: whoever sends a lower one has taken the partition over with a clock that is a little
 * behind, or sent the higher one while its own clock was ahead. Either way only the lower time is vouched for, and times wait for the next marker.
 * @param forwarding those of them that forward times which they have closed, each once and in ascending order: an earlier marker is one that is sent
 * again. A first stage's later marker covers an earlier time too; but what a handler has emitted about a time comes only from the partitions that have closed that very time, and one that heard its markers in
 * another order may have passed over it. Such a time is not closed here either: the next one follows.
 * @param store keeps the marker that counts per upstream partition, committed with the records before it
 */
export function timeGate(stages: readonly string[], forwarding: readonly string[], store: TimeStore): TimeGate {
  const partitionsKey = (stage: string) => `partitions/${stage}`
  const markerKey = (stage: string, partition: number) => `marker/${stage}/${partition}`

  /** How many partitions of the stage have sent this very time. */
  const sentKey = (stage: string, time: number) => `${SENT_PREFIX}${time}/${stage}`

  /** @returns false when it is as high already */
  function raise(key: string, value: number): boolean {
    const known = store.get(key)
    if (known !== undefined && value <= known) return false
    store.put(key, value)
    return true
  }

  function isWhole(time: number): boolean {
    return forwarding.every((stage) => store.get(sentKey(stage, time)) === store.get(partitionsKey(stage)))
  }

  /** Time that all partitions of the stage have reached. */
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
