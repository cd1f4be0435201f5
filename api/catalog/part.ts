import type { ReadinessProbe } from '../kit/readiness.ts'
import type { BoundRoute } from '../kit/route.ts'

/** A part of the catalogue, with its own routes. */
export interface CatalogPart {
  readonly routes: readonly BoundRoute[]
  readonly probes?: readonly ReadinessProbe[]
  /** Called when the service shuts down, after the last request has ended. */
  close?(): Promise<unknown>
}
