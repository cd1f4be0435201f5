import { Counter, Histogram, type Registry } from 'prom-client'
import type { Logger } from '../../kit/logging.ts'
import type { Later } from '../../kit/spaced-warning.ts'
import type { DecisionObserver } from './fail-open-limiter.ts'
import { failOpenWarning, withoutStore } from './fail-open-warning.ts'

/** Measures decisions. Logs warnings while Redis does not decide, and while decisions cannot be recorded. */
export interface LimiterTelemetry extends DecisionObserver {
  /** Logs pending warnings. */
  flush(): void
}

export interface LimiterTelemetryOptions {
  readonly registry: Registry
  readonly log: Pick<Logger, 'warn'>
  readonly later?: Later
}

/** Histogram buckets. They are fine enough to show the target of 2 ms and the time limit of 5 ms. */
const LATENCY_BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025]
const MS_PER_SECOND = 1_000

export function limiterTelemetry({ registry, log, later }: LimiterTelemetryOptions): LimiterTelemetry {
  const decisions = new Counter({
    name: 'rate_limit_decisions_total',
    help: 'Requests by decision: unlimited, allowed, refused, or undecided (allowed because no decision was possible)',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const undecided = new Counter({
    name: 'rate_limit_undecided_total',
    help: 'Requests that Redis did not decide, by reason; this instance decided them by its own counts, or allowed them undecided',
    labelNames: ['reason'],
    registers: [registry],
  })
  const latency = new Histogram({
    name: 'rate_limit_decision_seconds',
    help: 'Time that a decision added to a request; requests to which no rule applies are left out',
    buckets: LATENCY_BUCKETS_SECONDS,
    registers: [registry],
  })
  const children = new Map<string, { inc(): void }>()
  const failedOpen = failOpenWarning((warning) => log.warn({ ...warning }, 'limiter_failed_open'), later)
  const unrecorded = failOpenWarning((warning) => log.warn({ ...warning }, 'limit_decisions_unrecorded'), later)

  function count(outcome: string): void {
    let child = children.get(outcome)
    if (child === undefined) {
      child = decisions.labels({ outcome })
      children.set(outcome, child)
    }
    child.inc()
  }

  return {
    decided(verdict, elapsedMs) {
      count(verdict.outcome)
      if (verdict.outcome !== 'unlimited') latency.observe(elapsedMs / MS_PER_SECOND)
      const reason = verdict.outcome === 'undecided' ? verdict.reason : withoutStore(verdict)
      if (reason === undefined) return
      undecided.inc({ reason })
      failedOpen.undecided(reason)
    },
    failed: failedOpen.failed,
    recordingFailed(cause) {
      unrecorded.failed('fault', cause)
      unrecorded.undecided('fault')
    },
    flush() {
      failedOpen.flush()
      unrecorded.flush()
    },
  }
}
