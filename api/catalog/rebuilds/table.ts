import { indexRebuilds } from '../../../schemas/catalog/rebuilds/topics.ts'
import type { IndexRebuildStatus } from '../../../schemas/catalog/types.ts'
import { arrivals } from '../../kit/arrivals.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import { heldAsIs } from '../../kit/small-table/holding.ts'
import type { ServiceKit } from '../../service.ts'

/** This process's current copy of the statuses of all rebuilds. */
export interface RebuildTable {
  /**
   * Returns the status of a rebuild. Throws ApiError `not_ready` until the statuses have been read or a snapshot is in
   * use.
   */
  read(rebuildId: string): IndexRebuildStatus | undefined
  /**
   * Waits until this process has received the status of a rebuild, so that the caller can read it. Gives up waiting
   * after a second.
   */
  untilSeen(rebuildId: string): Promise<unknown>
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export async function openRebuilds({ smallTables }: Pick<ServiceKit, 'smallTables'>): Promise<RebuildTable> {
  const changes = arrivals()
  const table = await smallTables(indexRebuilds, heldAsIs<IndexRebuildStatus>(1, changes.changed))
  const read = (rebuildId: string) => table.entries().get(rebuildId)
  return {
    read,
    untilSeen: (rebuildId) => changes.until(() => read(rebuildId) !== undefined),
    // A process is ready even before it has read the rebuilds, because only requests about rebuilds need them.
    probes: [],
    close: table.close,
  }
}
