/**
 * The methods of pino that the project uses. Each event has a stable name in snake_case. All varying data belongs in
 * the fields.
 */
export interface Log {
  debug(fields: object, event: string): void
  info(fields: object, event: string): void
  warn(fields: object, event: string): void
  error(fields: object, event: string): void
}

/**
 * The inputs of a program that differ from run to run: time, timers, randomness, ids and the destination of its log.
 * Code that gets them only from a runtime can be simulated: the same runtime produces the same run. `systemRuntime` is
 * for production. `manualRuntime` is for tests: its time advances only on request.
 */
export interface Runtime {
  /** Epoch milliseconds of the wall clock. An operator or NTP may set it back. */
  now(): number
  /**
   * Milliseconds since an arbitrary moment. This clock is never set back, so durations, retries and timeouts use it.
   */
  monotonic(): number
  /**
   * Resolves after `ms`, or as soon as `signal` fires. The caller can check `signal.aborted` to distinguish these
   * cases. Never rejects.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Resolves in the next turn of the event loop, after sockets have been read and due timers have fired. */
  nextTurn(): Promise<void>
  /** Calls `callback` once after `ms`. */
  setTimer(ms: number, callback: () => void): CancelTimer
  /** Returns a random number x with 0 ≤ x < 1. The number is not suitable for secrets. */
  random(): number
  /** Creates a UUID. */
  id(): string
  readonly log: Log
}

/** Cancels the timer. Does nothing if the timer has fired. */
export type CancelTimer = () => void
