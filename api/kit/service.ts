import type { ErrorDefinition } from './errors.ts'
import type { ReadinessProbe } from './readiness.ts'
import type { BoundRoute } from './route.ts'

/** One service's part of the API. */
export interface Service {
  readonly name: string
  /** Shown in the documentation. */
  readonly description: string
  readonly routes: readonly BoundRoute[]
  /** Its own entries of the error catalogue. */
  readonly errors: readonly ErrorDefinition[]
  readonly probes: readonly ReadinessProbe[]
}
