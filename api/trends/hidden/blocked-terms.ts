import { blockedTerms } from '../../../schemas/trends/topics.ts'
import type { BlockedTerm } from '../../../schemas/trends/types.ts'
import { type Arrivals, arrivals } from '../../kit/arrivals.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import { heldAsIs } from '../../kit/small-table/holding.ts'
import type { ServiceKit } from '../../service.ts'

/**
 * This process's current copy of the terms that administrators have blocked. A change reaches the process within a
 * second.
 */
export interface BlockedTerms extends Pick<Arrivals, 'until'> {
  /**
   * Blocked terms, keyed by folded term. Throws ApiError `not_ready` if the terms have not been read and no snapshot of
   * them is in use.
   */
  readonly entries: ReadonlyMap<string, BlockedTerm>
  /** Increases with every change. */
  readonly revision: number
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export async function openBlockedTerms({ smallTables }: Pick<ServiceKit, 'smallTables'>): Promise<BlockedTerms> {
  let revision = 0
  const changes = arrivals()
  const table = await smallTables(
    blockedTerms,
    heldAsIs<BlockedTerm>(1, () => {
      revision++
      changes.changed()
    }),
  )
  return {
    get entries() {
      return table.entries()
    },
    get revision() {
      return revision
    },
    until: changes.until,
    probes: table.probes,
    close: table.close,
  }
}
