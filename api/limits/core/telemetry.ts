import { Counter, Histogram, type Registry } from 'prom-client'
import type { Logger } from '../../kit/logging.ts'
import type { Later } from '../../kit/spaced-warning.ts'
import type { FailureReason } from './counter.ts'
import { failOpenWarning } from './fail-open-warning.ts'
import type { Verdict } from './limiter.ts'

/** What is told of limits: metrics, and one warning per second while requests are let through undecided. */
export interface LimiterTelemetry {
  decided(verdict: Verdict, elapsedMs: number): void
  /** A batch of the counter store failed, or the limiter itself. */
  failed(reason: FailureReason | 'fault', cause: Error | undefined): void
  /** A decision was made and could not be recorded. */
  recordingFailed(cause: Error): void
  /** Says what was not said yet. */
  flush(): void
}

export interface LimiterTelemetryOptions {
  readonly registry: Registry
  readonly log: Pick<Logger, 'warn'>
  readonly later?: Later
}

/** The target is 2 ms, the time-out 5 ms. */
const LATENCY_BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025]
const MS_PER_SECOND = 1_000

export function limiterTelemetry({ registry, log, later }: LimiterTelemetryOptions): LimiterTelemetry {
  const decisions = new Counter({
    name: 'rate_limit_decisions_total',
    help: 'Requests by what was decided: unlimited, allowed, refused, undecided (let through because the counters did not answer)',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const undecided = new Counter({
    name: 'rate_limit_undecided_total',
    help: 'Requests let through undecided, by reason',
    labelNames: ['reason'],
    registers: [registry],
  })
  const latency = new Histogram({
    name: 'rate_limit_decision_seconds',
    help: 'Time that the decision added to a request',
    buckets: LATENCY_BUCKETS_SECONDS,
    registers: [registry],
  })
  const counted = new Map<string, { inc(): void }>()
  const warning = failOpenWarning((said) => log.warn({ ...said }, 'limiter_failed_open'), later)
  const recordingFailed = failOpenWarning((said) => log.warn({ ...said }, 'limit_decisions_unrecorded'), later)

  function count(outcome: string): void {
    let child = counted.get(outcome)
    if (child === undefined) {
      child = decisions.labels({ outcome })
      counted.set(outcome, child)
    }
    child.inc()
  }

  return {
    decided(verdict, elapsedMs) {
      count(verdict.outcome)
      if (verdict.outcome !== 'unlimited') latency.observe(elapsedMs / MS_PER_SECOND)
      if (verdict.outcome !== 'undecided') return
      undecided.inc({ reason: verdict.reason })
      warning.undecided(verdict.reason)
    },
    failed: warning.failed,
    recordingFailed(cause) {
      recordingFailed.failed('fault', cause)
      recordingFailed.undecided('fault')
    },
    flush() {
      warning.flush()
      recordingFailed.flush()
    },
  }
}
