/** What a first stage knows of one of its source partitions. */
export interface MarkedSource {
  /** Next offset to process. */
  readonly position: number
}

/** Decides when a first stage may say that a time has passed. */
export interface TimeMark {
  /**
   * A fetch of source `index` was answered: sent at `fetchedAt`, when the log ended at `highWatermark` or later.
   * @param now the same clock's reading, of this moment
   */
  observe(index: number, fetchedAt: number, highWatermark: number, now: number): void
  /** Epoch ms from which on a fetch must have been sent for the next time; -Infinity: at once, Infinity: the fetches that it needs were answered. */
  readonly asksFrom: number
  /** The time that may be marked now, in the transaction that commits these positions. */
  ready(sources: readonly MarkedSource[]): number | undefined
  /** The marker went into the open transaction. */
  sent(): void
}

/**
 * A time W is due once a fetch was sent at W + delay or later; what that fetch saw as the end of the log is the target, and W is
 * ready when the target is processed. One target at a time: while a backlog is worked off, its time is held until it is
 * reached, and the next one is the latest that is due then. So after a stop the times that passed meanwhile are skipped.
 * When the clock is set back, times begin anew from there: what was said of times that have not come by it no longer holds. Later stages close none a
 * second time.
 * @param waitedOutMs a clock that is set back by no more than this is waited for, so that no time comes twice
 */
export function timeMark(everyMs: number, delayMs: number, sourceCount: number, waitedOutMs = 0): TimeMark {
  let lastSent = -Infinity
  let due: number | undefined
  let targets: (number | undefined)[] = []

  return {
    observe(index, fetchedAt, highWatermark, now) {
      if (now < Math.max(lastSent, due ?? -Infinity) + delayMs - waitedOutMs) {
        lastSent = -Infinity
        due = undefined
      }
      // Sent before the clock was set back: nobody knows when that was.
      if (fetchedAt > now) return
      if (due === undefined) {
        const latest = Math.floor((fetchedAt - delayMs) / everyMs) * everyMs
        if (latest <= lastSent) return
        due = latest
        targets = new Array(sourceCount).fill(undefined)
      }
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
