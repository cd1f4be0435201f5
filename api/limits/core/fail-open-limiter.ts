import type { FailureReason } from './counter.ts'
import type { LimitedRequest, Limiter, Verdict } from './limiter.ts'

/** Called with every decision, for records and later replays. */
export type DecisionListener = (request: LimitedRequest, verdict: Verdict) => void

/** Called with decisions and failures, for metrics and warnings. */
export interface DecisionObserver {
  decided(verdict: Verdict, elapsedMs: number): void
  /** Called when a batch of the counter store has failed, or when the limiter itself has thrown. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** Called when a decision was made but could not be reported. */
  recordingFailed(cause: Error): void
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
export function failOpenLimiter({ limiter, observer, monotonic, onDecision }: FailOpenLimiterOptions): Limiter {
  function reported(request: LimitedRequest, startedAt: number, verdict: Verdict): Verdict {
    try {
      observer.decided(verdict, monotonic() - startedAt)
      onDecision?.(request, verdict)
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
  }
}
