import type { UserIdForm } from './auth/authorize.ts'
import type { ErrorDefinition } from './errors.ts'
import type { ReadinessProbe } from './readiness.ts'
import type { BoundRoute, ElsewhereRoute } from './route.ts'

/** One service's part of the API. */
export interface ServiceRoutes {
  readonly name: string
  /** Shown in the documentation. */
  readonly description: string
  /** Which subjects of tokens are user ids. A route that needs a user answers 403 to any other. */
  readonly isUserId: UserIdForm
  readonly routes: readonly BoundRoute[]
  /** What is answered around the app: only documented here. */
  readonly elsewhere?: readonly ElsewhereRoute[]
  /** Its own entries of the error catalogue. */
  readonly errors: readonly ErrorDefinition[]
  readonly probes: readonly ReadinessProbe[]
}
