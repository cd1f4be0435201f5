/**
 * Simulates the timers of a busy process. Its event loop is blocked most of the time: due timers fire only when the
 * test calls `look`.
 */
export function busyProcess() {
  let now = 0
  const due = new Map<() => void, number>()
  const turn: (() => void)[] = []
  return {
    timers: {
      setTimer(ms: number, callback: () => void) {
        due.set(callback, now + ms)
        return () => void due.delete(callback)
      },
      afterTurn: (callback: () => void) => void turn.push(callback),
      monotonic: () => now,
    },
    /**
     * Runs the timers that are due at the given time, then `read`, and then the callbacks that wait for the end of the
     * turn.
     */
    look(at: number, read: () => void = () => undefined): void {
      now = at
      for (const [callback, dueAt] of [...due]) {
        if (dueAt > now) continue
        due.delete(callback)
        callback()
      }
      read()
      for (const callback of turn.splice(0)) callback()
    },
  }
}
