import { type Later, spacedWarning } from '../../kit/spaced-warning.ts'
import type { FailureReason } from './counter.ts'
import type { Verdict } from './limiter.ts'

export type UndecidedReason = Extract<Verdict, { outcome: 'undecided' }>['reason']

/** How many requests were let through undecided since the last warning, and why. */
export interface FailedOpen {
  readonly requests: number
  readonly reason: UndecidedReason | undefined
  readonly cause: string | undefined
}

/** One warning a second at most, the first one at once, while requests are let through undecided. Every such request is in one of them. */
export interface FailOpenWarning {
  undecided(reason: UndecidedReason): void
  /** Why: a batch of the counter store failed, or the limiter itself. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** Says what was not said yet. */
  flush(): void
}

const WARN_EVERY_MS = 1_000

export function failOpenWarning(warn: (said: FailedOpen) => void, later?: Later): FailOpenWarning {
  let reason: UndecidedReason | undefined
  let cause: string | undefined
  const warning = spacedWarning({ everyMs: WARN_EVERY_MS, say: (requests) => warn({ requests, reason, cause }), later })

  return {
    undecided(why) {
      // While the circuit is open, the failure that opened it is the reason.
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
