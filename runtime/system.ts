import { randomUUID } from 'node:crypto'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Log, Runtime } from './runtime.ts'

const ignore = () => {}

/** A log that discards everything. */
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** Creates a runtime with the clocks, timers and random numbers of this machine. */
export function systemRuntime(log: Log = silentLog): Runtime {
  return {
    now: Date.now,
    monotonic: () => performance.now(),
    async sleep(ms, signal) {
      try {
        await delay(ms, undefined, { signal })
      } catch {
        // The wait ended because the signal fired. Callers check the signal themselves.
      }
    },
    nextTurn,
    setTimer(ms, callback) {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
    random: Math.random,
    id: () => randomUUID(),
    log,
  }
}
