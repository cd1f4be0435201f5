/** When a periodic handler runs: at multiples of its period, missed ones once. */
export interface TickSchedule {
  /** Epoch ms of the next run; Infinity before `start`. */
  readonly next: number
  /** Nothing is due for times up to `time`. */
  start(time: number): void
  /** The clock may have been set back to `time`: nothing waits longer for its next multiple than two periods. */
  setBack(time: number): void
  /** The latest multiple that `time` has passed since the last call, undefined when there is none. */
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
      // A small step is waited out, so that no multiple comes twice because of it.
      if (next - time > 2 * everyMs) next = after(time)
    },
    take(time) {
      if (time < next) return undefined
      next = after(time)
      return next - everyMs
    },
  }
}
