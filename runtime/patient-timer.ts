import type { CancelTimer } from './runtime.ts'

/** Delay of a timer, in ms, above which this process counts as busy. */
const LATE_MS = 1

export interface PatientTimers {
  setTimer(ms: number, callback: () => void): CancelTimer
  /** Calls back after the sockets have been read. */
  afterTurn(callback: () => void): void
  /** Monotonic ms. */
  monotonic(): number
}

/** The timers of this machine. */
export const systemTimers: PatientTimers = {
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  afterTurn: (callback) => void setImmediate(callback),
  monotonic: () => performance.now(),
}

/**
 * Calls back once after `ms`, to limit how long another process may take. A timer that fires late shows that this
 * process was busy, so the other process's response may still be unread in a socket, or the request may not have been
 * sent yet. In that case the timer waits for `ms` again, but for at most `mostMs` in total.
 */
export function patientTimer(timers: PatientTimers, ms: number, mostMs: number, callback: () => void): CancelTimer {
  const start = timers.monotonic()
  let dueAt = start + ms
  let isCancelled = false
  let cancel = timers.setTimer(ms, onTime)

  function onTime(): void {
    const now = timers.monotonic()
    const most = start + mostMs
    if (now - dueAt > LATE_MS && now < most) {
      dueAt = Math.min(now + ms, most)
      cancel = timers.setTimer(dueAt - now, onTime)
      return
    }
    timers.afterTurn(() => {
      if (!isCancelled) callback()
    })
  }

  return () => {
    isCancelled = true
    cancel()
  }
}
