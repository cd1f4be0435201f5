import type { FailureReason } from './counter-store.ts'
import type { Verdict } from './limiter.ts'

export type UndecidedReason = Extract<Verdict, { outcome: 'undecided' }>['reason']

/** How many requests were let through undecided since the last warning, and why. */
export interface FailedOpen {
  readonly requests: number
  readonly reason: UndecidedReason | undefined
  readonly cause: string | undefined
}

/** One warning a second at most, the first one at once, while requests are let through undecided. Every such request is in one of them. */
export interface FailureWarning {
  undecided(reason: UndecidedReason): void
  /** Why: a batch of the counter store failed, or the limiter itself. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** Says what was not said yet. */
  flush(): void
}

/** Calls `run` after so many ms; nothing waits for it at the end of the process. */
export type Later = (ms: number, run: () => void) => void

const WARN_EVERY_MS = 1_000

const unwaited: Later = (ms, run) => void setTimeout(run, ms).unref()

export function failureWarning(warn: (said: FailedOpen) => void, later: Later = unwaited): FailureWarning {
  let requests = 0
  let reason: UndecidedReason | undefined
  let cause: string | undefined
  let isQuiet = false

  function flush(): void {
    if (requests === 0) return
    const said = { requests, reason, cause }
    requests = 0
    warn(said)
  }

  function say(): void {
    isQuiet = requests > 0
    if (!isQuiet) return
    later(WARN_EVERY_MS, say)
    flush()
  }

  return {
    undecided(why) {
      requests++
      // While the circuit is open, the failure that opened it is the reason.
      if (why !== 'circuit_open') reason = why
      if (!isQuiet) say()
    },
    failed(why, error) {
      reason = why
      cause = error?.message
    },
    flush,
  }
}
