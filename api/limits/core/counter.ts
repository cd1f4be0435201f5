import type { Limit } from './formulas.ts'

/** The counter of a rule for one caller. */
export interface Counter {
  readonly key: string
  /** The key's hash tag. Counters with equal tags are decided in one step. */
  readonly tag: string
  readonly limit: Limit
}

/**
 * What to take from a counter.
 * - `hard`: all units, or the whole request takes nothing
 * - `soft`: all units or none; a lack does not stop the request
 * - `up-to`: as many of the units as there are
 * - `give-back`: returns units that were taken in the window of that index (0 for buckets)
 */
export type Ask =
  | { readonly mode: 'hard' | 'soft'; readonly counter: Counter; readonly units: number }
  | {
      readonly mode: 'up-to'
      readonly counter: Counter
      readonly units: number
      /**
       * Called if the connection broke before the answer. The number of taken units is then unknown, and none go back.
       */
      onUnknownOutcome?(): void
    }
  | { readonly mode: 'give-back'; readonly counter: Counter; readonly units: number; readonly windowIndex: number }

/** The state of a counter, and what was taken from it. */
export interface Reading {
  readonly taken: number
  /** The shard's clock, µs since 1970. */
  readonly nowUs: number
  /** Before anything was taken: the window's current count, or the bucket's µ-tokens. */
  readonly held: number
  /** Before anything was taken: the count of the window before; 0 for a bucket. */
  readonly heldBefore: number
}

/** Why requests were allowed without a decision. */
export type FailureReason = 'timeout' | 'unreachable' | 'error_reply' | 'circuit_open'

export interface Undecided {
  readonly undecided: FailureReason
}

export type Outcome = readonly Reading[] | Undecided

export interface CounterStore {
  /**
   * Answers one reading per ask, in order. All asks of a call that share a shard are one atomic step. Returns at once
   * if the store need not be asked. Never rejects.
   */
  decide(asks: readonly Ask[]): Outcome | Promise<Outcome>
}

/** The functions of a Redis client that the counters use. */
export interface ScriptRunner {
  /** Runs DECIDE_SCRIPT. Rejects if Redis does not accept it. */
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]>
  /** Counters whose tags are of one group may be decided by one script. */
  groupOf(tag: string): string
  /** The server of a group. Groups of one server fail together. */
  nodeOf(group: string): string
}
