import { randomUUID } from 'node:crypto'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Log, Runtime } from './runtime.ts'

/**
 * The longest delay of a timer in Node, about 25 days. Node replaces longer delays with 1 ms, so a job with a longer
 * interval would run without a pause.
 */
const LONGEST_TIMER_MS = 2 ** 31 - 1

const ignore = () => {}

/** A log that discards everything. */
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/**
 * Creates a runtime with the clocks, timers and random numbers of this machine. A delay of more than 25 days ends after
 * 25 days.
 */
export function systemRuntime(log: Log = silentLog): Runtime {
  return {
    now: Date.now,
    monotonic: () => performance.now(),
    async sleep(ms, signal) {
      try {
        await delay(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal })
      } catch {
        // The wait ended because the signal fired. Callers check the signal themselves.
      }
    },
    nextTurn,
    setTimer(ms, callback) {
      const timer = setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS))
      return () => clearTimeout(timer)
    },
    random: Math.random,
    id: () => randomUUID(),
    log,
  }
}
