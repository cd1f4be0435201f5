/**
 * Schedules a periodic handler at multiples of its period. If several runs were missed, only the latest of them runs.
 */
export interface TickSchedule {
  /** Epoch ms of the next run; Infinity before `start`. */
  readonly next: number
  /** Starts the schedule with the first multiple after `time`. */
  start(time: number): void
  /** Must be called when the clock may have been set back to `time`. The next run then comes within two periods. */
  setBack(time: number): void
  /** Returns the latest multiple of the period up to `time`; undefined when none has passed since the last call. */
  take(time: number): number | undefined
}

export function tickSchedule(everyMs: number): TickSchedule {
  let next = Infinity
  const after = (time: number) => (Math.floor(time / everyMs) + 1) * everyMs
  return {
    get next() {
      return next
    },
    start(time) {
      next = after(time)
    },
    setBack(time) {
      // If the clock is set back a little, the schedule waits for it to catch up, so that no multiple occurs twice.
      if (next - time > 2 * everyMs) next = after(time)
    },
    take(time) {
      if (time < next) return undefined
      next = after(time)
      return next - everyMs
    },
  }
}
