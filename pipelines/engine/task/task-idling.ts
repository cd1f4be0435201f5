import type { RecordQueue } from './record-queue.ts'

/** The facts about a source partition that decide whether the task waits for it. */
export type IdlingSource = Pick<RecordQueue, 'queuedRecords' | 'position' | 'readableEnd' | 'fetchedAt'>

/**
 * Decides when a task with several sources waits for a source that has no queued records. Because of the wait, the task
 * processes the records of all sources in the order of their timestamps (KIP-695).
 */
export interface TaskIdling {
  /**
   * Returns the time (epoch ms) until which the task waits. The time is in the past if the task does not have to wait,
   * and Infinity if the end of the wait is not known.
   */
  until(now: number): number
}

const never: TaskIdling = { until: () => -Infinity }

/**
 * Creates the rule by which a task waits for its sources.
 * @param maxIdleMs With -1, the task never waits. With 0, it waits for the first fetch, and for records that are known
 * to be on the broker. With a positive value, it also waits up to this long for records that may still arrive.
 */
export function taskIdling(sources: readonly IdlingSource[], maxIdleMs: number): TaskIdling {
  if (maxIdleMs < 0 || sources.length === 1) return never
  /**
   * For each source, the time (epoch ms) at which the task found that it had processed the source to its end; undefined
   * for a source with more records.
   */
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
    // If the clock was set back, the wait restarts.
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
