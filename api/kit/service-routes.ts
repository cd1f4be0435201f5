import type { UserIdForm } from './auth/authorize.ts'
import type { ErrorDefinition } from './errors.ts'
import type { ReadinessProbe } from './readiness.ts'
import type { BoundRoute, DocumentedRoute } from './route.ts'

/** One service's part of the API. */
export interface ServiceRoutes {
  readonly name: string
  /** Description of the service for the API documentation. */
  readonly description: string
  /** Returns whether a token's subject is a user id of this service. */
  readonly isUserId: UserIdForm
  readonly routes: readonly BoundRoute[]
  /** Operations that are handled by code outside the app. In the app, they appear only in the documentation. */
  readonly documented?: readonly DocumentedRoute[]
  /** The service's entries in the error catalogue. */
  readonly errors: readonly ErrorDefinition[]
  readonly probes: readonly ReadinessProbe[]
}
