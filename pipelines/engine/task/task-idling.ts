import type { RecordQueue } from './record-queue.ts'

/** What a queue knows about its source partition. */
export type IdlingSource = Pick<RecordQueue, 'queuedRecords' | 'position' | 'readableEnd' | 'fetchedAt'>

/**
 * Decides when a task with several sources waits for one that has no queued records, so that the records of all sources
 * are processed in the order of their timestamps (KIP-695).
 */
export interface TaskIdling {
  /**
   * Returns the time (epoch ms) until which the task waits: a past time if it need not wait, and Infinity if it waits
   * until records arrive.
   */
  until(now: number): number
}

const never: TaskIdling = { until: () => -Infinity }

/**
 * @param maxIdleMs -1: never waits. 0: waits for records that are known to be in the broker. A positive number: also
 *   waits this long for records that may still come.
 */
export function taskIdling(sources: readonly IdlingSource[], maxIdleMs: number): TaskIdling {
  if (maxIdleMs < 0 || sources.length === 1) return never
  /** Since when each source is known to be read to its end. */
  const endedSince: (number | undefined)[] = sources.map(() => undefined)

  /** Returns the time until which the task waits for this source. */
  function untilOf(index: number, now: number): number {
    const source = sources[index]
    if (source.queuedRecords > 0) {
      endedSince[index] = undefined
      return -Infinity
    }
    if (source.fetchedAt === undefined || source.position < source.readableEnd) {
      endedSince[index] = undefined
      return Infinity
    }
    if (maxIdleMs === 0) return -Infinity
    const since = endedSince[index]
    // A clock that was set back restarts the wait.
    if (since === undefined || since > now) endedSince[index] = now
    return (endedSince[index] as number) + maxIdleMs
  }

  return {
    until(now) {
      let latest = -Infinity
      for (let i = 0; i < sources.length; i++) latest = Math.max(latest, untilOf(i, now))
      return latest
    },
  }
}
