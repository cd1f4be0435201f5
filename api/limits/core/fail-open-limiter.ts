import type { FailureReason } from './counter.ts'
import type { LimitedRequest, Limiter, Verdict } from './limiter.ts'

/** Called with every decision about an identified caller, for records and later replays. */
export type DecisionListener = (request: LimitedRequest, verdict: Verdict) => void

/** Called with decisions and failures, for metrics and warnings. */
export interface DecisionObserver {
  decided(verdict: Verdict, elapsedMs: number): void
  /** Called when a batch of the counter store has failed, or when the limiter itself has thrown. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** Called when a decision was made but could not be reported. */
  recordingFailed(cause: Error): void
}

/** A limiter that fails open and reports every decision. */
export interface FailOpenLimiter extends Limiter {
  /**
   * Allows a request whose caller cannot be identified, because the API keys have not been read yet. Reports the
   * request to the observer only, because records need a caller.
   */
  allowUnidentified(): Verdict
}

export interface FailOpenLimiterOptions {
  readonly limiter: Limiter
  readonly observer: DecisionObserver
  /** Monotonic ms. */
  monotonic(): number
  readonly onDecision?: DecisionListener
}

/**
 * Decides with a limiter and reports every decision. If the limiter fails, the request is allowed. If a report fails,
 * the decision still applies.
 */
export function failOpenLimiter({ limiter, observer, monotonic, onDecision }: FailOpenLimiterOptions): FailOpenLimiter {
  function reported(request: LimitedRequest | undefined, startedAt: number, verdict: Verdict): Verdict {
    try {
      observer.decided(verdict, monotonic() - startedAt)
      if (request !== undefined) onDecision?.(request, verdict)
    } catch (error) {
      observer.recordingFailed(error as Error)
    }
    return verdict
  }

  function faulty(request: LimitedRequest, startedAt: number, error: Error): Verdict {
    observer.failed('fault', error)
    return reported(request, startedAt, { outcome: 'undecided', reason: 'fault' })
  }

  return {
    decide(request) {
      const startedAt = monotonic()
      try {
        const verdict = limiter.decide(request)
        if (!(verdict instanceof Promise)) return reported(request, startedAt, verdict)
        return verdict.then(
          (decided) => reported(request, startedAt, decided),
          (error: Error) => faulty(request, startedAt, error),
        )
      } catch (error) {
        return faulty(request, startedAt, error as Error)
      }
    },
    allowUnidentified: () => reported(undefined, monotonic(), { outcome: 'undecided', reason: 'keys_not_ready' }),
  }
}
