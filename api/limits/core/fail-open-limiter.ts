import type { LimitedRequest, Limiter, Verdict } from './limiter.ts'
import type { LimiterTelemetry } from './telemetry.ts'

/** Told of every decision, for records and for later replays. */
export type DecisionListener = (request: LimitedRequest, verdict: Verdict) => void

export interface FailOpenLimiterOptions {
  readonly limiter: Limiter
  readonly telemetry: Pick<LimiterTelemetry, 'decided' | 'failed' | 'recordingFailed'>
  /** Monotonic ms. */
  monotonic(): number
  readonly onDecision?: DecisionListener
}

/** What decides for requests, its own and those of other gateways: whatever is decided is told, and a fault of it is none of theirs. */
export function failOpenLimiter({ limiter, telemetry, monotonic, onDecision }: FailOpenLimiterOptions): Limiter {
  function told(request: LimitedRequest, startedAt: number, verdict: Verdict): Verdict {
    try {
      telemetry.decided(verdict, monotonic() - startedAt)
      onDecision?.(request, verdict)
    } catch (error) {
      telemetry.recordingFailed(error as Error)
    }
    return verdict
  }

  function faulty(request: LimitedRequest, startedAt: number, error: Error): Verdict {
    telemetry.failed('fault', error)
    return told(request, startedAt, { outcome: 'undecided', reason: 'fault' })
  }

  return {
    decide(request) {
      const startedAt = monotonic()
      try {
        const verdict = limiter.decide(request)
        if (!(verdict instanceof Promise)) return told(request, startedAt, verdict)
        return verdict.then(
          (one) => told(request, startedAt, one),
          (error: Error) => faulty(request, startedAt, error),
        )
      } catch (error) {
        return faulty(request, startedAt, error as Error)
      }
    },
  }
}
