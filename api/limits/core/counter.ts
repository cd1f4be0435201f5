import type { Limit } from './formulas.ts'

/** A counter of one rule, for one caller or for several callers that share it. */
export interface Counter {
  readonly key: string
  /** The key's hash tag. Counters with the same tag are checked and updated in one atomic step. */
  readonly tag: string
  readonly limit: Limit
}

/**
 * One ask: how many units to take from a counter or to return to it, and how.
 * - `hard` takes all units. If there are too few units, the whole request takes nothing.
 * - `soft` takes all units or none. If there are too few units, the other asks of the request are not affected.
 * - `up-to` takes as many of the units as are left.
 * - `give-back` returns units that were taken in the window with this index. Buckets ignore the index.
 * - `charge` takes units that have already been spent in the window with this index (0 for buckets), regardless of the
 *   limit.
 */
export type Ask =
  | { readonly mode: 'hard' | 'soft'; readonly counter: Counter; readonly units: number }
  | {
      readonly mode: 'up-to'
      readonly counter: Counter
      readonly units: number
      /**
       * Called if the script call fails without a reply from Redis, for example because the connection breaks. The
       * number of taken units is then unknown, and no units are returned.
       */
      onUnknownOutcome?(): void
    }
  | { readonly mode: 'give-back' | 'charge'; readonly counter: Counter; readonly units: number; readonly windowIndex: number }

/** The result of an ask, and the state of its counter before units were taken. */
export interface Reading {
  /** Units that the ask took, or would have taken if another ask had not refused the request. */
  readonly taken: number
  /** The shard's time or an estimate of it, µs since 1970. */
  readonly nowUs: number
  /** The current count of the window, or the µ-tokens of the bucket, before units were taken. */
  readonly held: number
  /** The count of the previous window before units were taken; 0 for a bucket. */
  readonly heldBefore: number
}

/** Reasons why the store did not decide a request. */
export type FailureReason = 'timeout' | 'unreachable' | 'error_reply' | 'circuit_open'

export interface Undecided {
  readonly undecided: FailureReason
  /**
   * The asks of an undecided request that were decided nevertheless, by another shard or from a slice of this instance.
   */
  readonly decided?: ReadonlyMap<Ask, Reading>
  /**
   * Whether the store was asked for a slice instead of a decision. If so, the store will not count the request itself,
   * even if its answer arrives late.
   */
  readonly isUncounted?: boolean
}

export type Outcome = readonly Reading[] | Undecided

export interface CounterStore {
  /**
   * Returns one reading per ask, in order, or the reason why there is no decision. The store decides all asks of a call
   * for counters on the same shard in one atomic step. Returns a plain value instead of a promise if it need not wait
   * for the store. Never rejects.
   */
  decide(asks: readonly Ask[]): Outcome | Promise<Outcome>
}

/** The functions of a Redis client that the counters need. */
export interface ScriptRunner {
  /** Runs DECIDE_SCRIPT. Rejects if Redis is unreachable or replies with an error. */
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]>
  /** Returns the group of a hash tag. One script can decide counters whose tags have the same group. */
  groupOf(tag: string): string
  /** Returns the server of a group. All groups of a server fail together. */
  nodeOf(group: string): string
}
