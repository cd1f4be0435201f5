import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log, Runtime } from './runtime.ts'
import { silentLog } from './system.ts'

export interface ManualRuntimeOptions {
  /** Epoch milliseconds at which the wall clock starts. Default 2026-01-01T00:00Z. */
  readonly startAt?: number
  readonly log?: Log
}

/** A runtime for tests: time passes only in `advance`, all random numbers are 0.5, and ids count up. */
export interface ManualRuntime extends Runtime {
  /** Advances both clocks. Each timer that becomes due in the meantime fires at its own time. */
  advance(ms: number): void
  /** Sets only the wall clock, like an operator who sets the system time. */
  setNow(epochMs: number): void
}

interface Timer {
  readonly dueAt: number
  readonly callback: () => void
}

const DEFAULT_START_MS = Date.UTC(2026, 0, 1)
const RANDOM = 0.5
const ID_DIGITS = 12

export function manualRuntime({ startAt = DEFAULT_START_MS, log = silentLog }: ManualRuntimeOptions = {}): ManualRuntime {
  let passed = 0
  /** The reading of the wall clock when the monotonic clock is at 0. */
  let origin = startAt
  let ids = 0
  const timers = new Set<Timer>()

  function nextTimer(until: number): Timer | undefined {
    let next: Timer | undefined
    // Timers with the same due time fire in the order in which they were set.
    for (const timer of timers) if (timer.dueAt <= until && (next === undefined || timer.dueAt < next.dueAt)) next = timer
    return next
  }

  function setTimer(ms: number, callback: () => void): () => void {
    const timer = { dueAt: passed + Math.max(0, ms), callback }
    timers.add(timer)
    return () => timers.delete(timer)
  }

  return {
    now: () => origin + passed,
    monotonic: () => passed,
    sleep(ms, signal) {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (signal?.aborted) return Promise.resolve()
      const cancel = setTimer(ms, resolve)
      signal?.addEventListener('abort', () => {
        cancel()
        resolve()
      })
      return promise
    },
    nextTurn,
    setTimer,
    random: () => RANDOM,
    id: () => `00000000-0000-4000-8000-${String(++ids).padStart(ID_DIGITS, '0')}`,
    log,
    advance(ms) {
      const until = passed + ms
      for (let timer = nextTimer(until); timer !== undefined; timer = nextTimer(until)) {
        timers.delete(timer)
        passed = timer.dueAt
        timer.callback()
      }
      passed = until
    },
    setNow(epochMs) {
      origin = epochMs - passed
    },
  }
}
