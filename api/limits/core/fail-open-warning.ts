import { type Later, spacedWarning } from '../../kit/spaced-warning.ts'
import type { FailureReason } from './counter.ts'
import type { Verdict } from './limiter.ts'

export type UndecidedReason = Extract<Verdict, { outcome: 'undecided' }>['reason']

/** The number of requests that Redis has not decided since the last warning, and the latest known reason. */
export interface FailedOpen {
  readonly requests: number
  readonly reason: UndecidedReason | undefined
  readonly cause: string | undefined
}

/**
 * Warns while requests are decided without Redis or not at all. The first warning is immediate, and further warnings
 * follow at most once a second. Each of these requests is counted in exactly one warning.
 */
export interface FailOpenWarning {
  undecided(reason: UndecidedReason): void
  /** Keeps the reason and the cause of a failure for later warnings. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** Logs a warning for requests that no warning has counted yet. */
  flush(): void
}

const WARN_EVERY_MS = 1_000

/** Returns why this instance's own counts decided instead of Redis; undefined if they did not decide. */
export function withoutStore(verdict: Verdict): FailureReason | undefined {
  return 'withoutStore' in verdict ? verdict.withoutStore : undefined
}

export function failOpenWarning(warn: (warning: FailedOpen) => void, later?: Later): FailOpenWarning {
  let reason: UndecidedReason | undefined
  let cause: string | undefined
  const warning = spacedWarning({ everyMs: WARN_EVERY_MS, say: (requests) => warn({ requests, reason, cause }), later })

  return {
    undecided(why) {
      // While the circuit is open, the warning keeps the reason for the failure that opened the circuit.
      if (why !== 'circuit_open') reason = why
      warning.happened()
    },
    failed(why, error) {
      reason = why
      cause = error?.message
    },
    flush: warning.flush,
  }
}
