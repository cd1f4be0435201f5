import type { CancelTimer } from './runtime.ts'

/** A timer that fires late by more than this shows that the process was busy. */
const LATE_MS = 1

export interface PatientTimers {
  setTimer(ms: number, callback: () => void): CancelTimer
  /** Calls back after sockets were read. */
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
 * Calls back once after `ms`, for a limit on how long another process may take. A timer that fires late shows that this
 * process was busy. The answer may then be unread in a socket, or the question unsent, so the timer waits once more,
 * up to `mostMs` in all. A limit of at least `mostMs` is not prolonged.
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
