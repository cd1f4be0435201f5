/** The part of pino that is written to. The event is a stable snake_case name; everything that varies goes into the fields. */
export interface Log {
  debug(fields: object, event: string): void
  info(fields: object, event: string): void
  warn(fields: object, event: string): void
  error(fields: object, event: string): void
}

/**
 * Everything that a program takes from its surroundings and that differs from run to run: time, timers, chance and ids, and where its log goes. Code
 * that takes them from here alone can be simulated: same runtime, same run. `systemRuntime` is the real one, `manualRuntime` stands still in tests.
 */
export interface Runtime {
  /** Epoch milliseconds of the wall clock. An operator or NTP may set it back. */
  now(): number
  /** Milliseconds since an arbitrary moment, never set back: durations, retries and time-outs are measured with it. */
  monotonic(): number
  /** Resolves after `ms`, or as soon as `signal` fires: check the signal to tell the two apart. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Resolves in the next turn of the event loop, when sockets were read and timers that are due have fired. */
  nextTurn(): Promise<void>
  /** Calls `callback` once after `ms`. */
  setTimer(ms: number, callback: () => void): CancelTimer
  /** 0 ≤ x < 1. Not for secrets. */
  random(): number
  /** A new UUID. */
  id(): string
  readonly log: Log
}

/** Does nothing when the timer has fired. */
export type CancelTimer = () => void
