import type { ReadinessProbe } from '../kit/readiness.ts'
import type { BoundRoute } from '../kit/route.ts'

/** A part of fraud scoring, with its own routes. */
export interface FraudPart {
  readonly routes: readonly BoundRoute[]
  readonly probes?: readonly ReadinessProbe[]
  /** Called after the last request has ended. */
  close?(): Promise<unknown>
}
