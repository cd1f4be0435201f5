import type { Log, Runtime } from '../../runtime/runtime.ts'
import type { Random } from '../../tools/random/random.ts'
import { type Actor, actor, type Scheduler } from './scheduler.ts'

const START_MS = Date.UTC(2026, 0, 1)

/** Returns the time that a correct clock shows, epoch ms. */
export function wallTime(simulated: number): number {
  return Math.floor(START_MS + simulated)
}

/** Range of the durations of a turn of the event loop, ms. */
const TURN_MS = [0.01, 0.3] as const
/** Range of the times by which timers run late, ms. */
const TIMER_LATE_MS = [0, 1.2] as const
/**
 * Probability that the operating system suspends the process just before it reads the monotonic clock. Applies only to
 * processes with `isSuspended`.
 */
const SHARE_SUSPENDED = 0.2
/** Range of the durations of such a suspension, ms. */
const SUSPENDED_MS = [0.01, 1.5] as const
/** A process is not suspended again while its monotonic clock is this far ahead of the simulated time, ms. */
const MOST_AHEAD_MS = 20
const LONGEST_TIMER_MS = 2 ** 31 - 1
const ID_DIGITS = 12

/** A process with its own clocks, timers and random numbers. When the process is killed, all its events are dropped. */
export interface SimulatedProcess {
  readonly actor: Actor
  readonly runtime: Runtime
  /** How far the wall clock of the process is ahead, ms. */
  clockOffsetMs: number
}

export interface SimulatedProcessOptions {
  readonly clockOffsetMs?: number
  /**
   * True if time may also pass within a turn of the event loop, as it does when other processes need the CPU. Two
   * readings of the monotonic clock then differ although nothing else has happened.
   */
  readonly isSuspended?: boolean
}

export function simulatedProcess(name: string, scheduler: Scheduler, options: SimulatedProcessOptions = {}): SimulatedProcess {
  const { clockOffsetMs = 0, isSuspended = false } = options
  const own = actor(name)
  const startedAt = scheduler.now()
  const { random, between } = scheduler.chance(name)
  const suspensions = scheduler.chance(`${name} suspensions`)
  let lastReading = 0

  function monotonic(): number {
    const passed = scheduler.now() - startedAt
    lastReading = Math.max(lastReading, passed)
    if (isSuspended && lastReading - passed < MOST_AHEAD_MS && suspensions.random() < SHARE_SUSPENDED)
      lastReading += suspensions.between(...SUSPENDED_MS)
    return lastReading
  }

  function setTimer(ms: number, callback: () => void): () => void {
    // As in Node, a delay is a whole number of milliseconds and at least 1. A delay above the maximum also becomes 1.
    const whole = ms >= 1 && ms <= LONGEST_TIMER_MS ? Math.floor(ms) : 1
    return scheduler.after(whole + between(...TIMER_LATE_MS), own, 'timer', callback)
  }

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = setTimer(ms, end)
    function end(): void {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    return promise
  }

  const runtime: Runtime = {
    now: () => wallTime(scheduler.now() + simulated.clockOffsetMs),
    monotonic,
    sleep,
    nextTurn: () => new Promise((resolve) => void scheduler.after(between(...TURN_MS), own, 'turn', resolve)),
    setTimer,
    random,
    id: () => simulatedId(random),
    log: tracingLog(own, scheduler),
  }
  const simulated: SimulatedProcess = { actor: own, runtime, clockOffsetMs }
  return simulated
}

export function simulatedId(random: Random): string {
  const hex = Math.floor(random() * 2 ** 32).toString(16)
  return `00000000-0000-4000-8000-${hex.padStart(ID_DIGITS, '0')}`
}

/** Writes the log events of a process to the trace, until the process is dead. */
function tracingLog(own: Actor, scheduler: Scheduler): Log {
  function write(fields: object, event: string): void {
    if (!own.alive) return
    const { err } = fields as { readonly err?: unknown }
    scheduler.note(`${own.name} log ${event}${err === undefined ? '' : `: ${err instanceof Error ? err.message : String(err)}`}`)
  }
  return { debug: write, info: write, warn: write, error: write }
}
