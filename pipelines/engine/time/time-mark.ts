/** The part of a source partition's state on which time marks depend. */
export interface MarkedSource {
  /** The next offset to process. */
  readonly position: number
}

/** Decides when a first stage may declare that a time has passed. */
export interface TimeMark {
  /**
   * Must be called when the response to a fetch of source `index` has arrived. The fetch was sent at `fetchedAt`, and
   * everything that was in the log at that time is before `highWatermark`.
   * @param now the current reading of the same clock
   */
  observe(index: number, fetchedAt: number, highWatermark: number, now: number): void
  /**
   * Epoch ms. Only a fetch that is sent at this time or later can make the next time ready. -Infinity admits every
   * fetch. Infinity means that the responses to all needed fetches have arrived.
   */
  readonly asksFrom: number
  /**
   * Returns the time that may be marked in the transaction that commits these positions; undefined when there is none.
   */
  ready(sources: readonly MarkedSource[]): number | undefined
  /**
   * Must be called after the ready time was handled, for example after its marker was added to the open transaction.
   */
  sent(): void
}

/**
 * If the end of a log stays below a target for longer than this, the log has lost records, for example in an unclean
 * leader election. After an ordinary election, it takes less than a second until readers see all records again.
 */
const LOST_AFTER_MS = 30_000

/**
 * A time W is due once a fetch was sent at W + delay or later. For each source, the high watermark in the response to
 * such a fetch is the target. W is ready when all sources are processed up to their targets. Only one time is due at
 * any moment. The stage first processes its backlog up to the targets, and then gets new targets for the latest time
 * that is due by then. Times that passed while the worker was stopped are therefore skipped. If a log has lost the
 * records before its target, its new end becomes the target. Otherwise, no time would be ready until as many new
 * records have arrived as were lost.
 *
 * When the clock is set back, times start again from the new reading, because earlier markers for times after that
 * reading are no longer valid. Later stages do not close a time twice.
 * @param waitedOutMs if the clock is set back by at most this much, no time is marked until the clock has caught up, so
 * that no time occurs twice
 */
export function timeMark(everyMs: number, delayMs: number, sourceCount: number, waitedOutMs = 0): TimeMark {
  let lastSent = -Infinity
  let due: number | undefined
  let targets: (number | undefined)[] = []
  /** For each source, the time since which the end of its log has been below the target. */
  let shortSince: (number | undefined)[] = []

  /** Lowers the target of a source that has lost records. */
  function expectTarget(index: number, fetchedAt: number, highWatermark: number): void {
    const target = targets[index]
    if (target === undefined || highWatermark >= target) {
      shortSince[index] = undefined
      return
    }
    const since = shortSince[index] ?? fetchedAt
    shortSince[index] = since
    if (fetchedAt - since > LOST_AFTER_MS) targets[index] = highWatermark
  }

  return {
    observe(index, fetchedAt, highWatermark, now) {
      if (now < Math.max(lastSent, due ?? -Infinity) + delayMs - waitedOutMs) {
        lastSent = -Infinity
        due = undefined
      }
      // The fetch was sent before the clock was set back, so its time on the new clock is unknown.
      if (fetchedAt > now) return
      if (due === undefined) {
        const latest = Math.floor((fetchedAt - delayMs) / everyMs) * everyMs
        if (latest <= lastSent) return
        due = latest
        targets = new Array(sourceCount).fill(undefined)
        shortSince = []
      }
      expectTarget(index, fetchedAt, highWatermark)
      if (targets[index] === undefined && fetchedAt >= due + delayMs) targets[index] = highWatermark
    },
    get asksFrom() {
      if (due === undefined) return lastSent + everyMs + delayMs
      return targets.includes(undefined) ? due + delayMs : Infinity
    },
    ready(sources) {
      if (due === undefined) return undefined
      for (let i = 0; i < sourceCount; i++) {
        const target = targets[i]
        if (target === undefined || sources[i].position < target) return undefined
      }
      return due
    },
    sent() {
      lastSent = due ?? lastSent
      due = undefined
    },
  }
}

/** A time mark and the action to take when its time is reached. */
interface MarkedTime {
  readonly mark: TimeMark
  reached(time: number): void
}

/** The time marks of a task that serve the same purpose: sending markers, or running ticks of the caught-up clock. */
export interface TimeMarks {
  /** See `TimeMark.observe`. */
  observe(index: number, fetchedAt: number, highWatermark: number, now: number): void
  /** The earliest `TimeMark.asksFrom` of all marks. */
  readonly asksFrom: number
  /** True when a marked time is reached. */
  readonly due: boolean
  /** Handles the reached times, in the same transaction that commits the task's positions in its sources. */
  run(): void
}

export function timeMarks(marked: readonly MarkedTime[], sources: readonly MarkedSource[]): TimeMarks {
  return {
    observe(index, fetchedAt, highWatermark, now) {
      for (const { mark } of marked) mark.observe(index, fetchedAt, highWatermark, now)
    },
    get asksFrom() {
      return marked.reduce((least, { mark }) => Math.min(least, mark.asksFrom), Infinity)
    },
    get due() {
      return marked.some(({ mark }) => mark.ready(sources) !== undefined)
    },
    run() {
      for (const { mark, reached } of marked) {
        const time = mark.ready(sources)
        if (time === undefined) continue
        reached(time)
        mark.sent()
      }
    },
  }
}
