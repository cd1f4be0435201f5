import { indexRebuild, indexRebuilds } from '../../../schemas/catalog/rebuilds/topics.ts'
import type { IndexRebuildStatus } from '../../../schemas/catalog/types.ts'
import { PRODUCTS_INDEX } from '../../../state/indexes/catalog/products.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { commandIdOf } from '../../kit/commands/idempotency.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { CatalogPart } from '../part.ts'
import { readRebuildRoute, requestRebuildRoute } from './routes.ts'
import type { RebuildTable } from './table.ts'

export interface RebuildsDeps {
  readonly facts: Pick<Facts, 'publish'>
  readonly rebuilds: RebuildTable
  /** Epoch ms. */
  now(): number
}

/** Creates the routes that request rebuilds of the search index and show their progress. */
export function rebuildsPart({ facts, rebuilds, now }: RebuildsDeps): CatalogPart {
  /** @param requested_at time of the first request, epoch ms */
  async function request(rebuild_id: string, requested_by: string, requested_at: number): Promise<IndexRebuildStatus> {
    const counts = { done: 0, total: 0, requested_at, started_at: null, updated_at: now() }
    const status: IndexRebuildStatus = { rebuild_id, index_name: PRODUCTS_INDEX, state: 'requested', ...counts }
    // The status is written first, because the worker that executes the request overwrites it.
    await facts.publish(indexRebuilds, rebuild_id, status)
    await facts.publish(indexRebuild, PRODUCTS_INDEX, { rebuild_id, requested_by, requested_at })
    await rebuilds.untilSeen(rebuild_id)
    return status
  }

  return {
    probes: rebuilds.probes,
    close: rebuilds.close,
    routes: [
      bind(requestRebuildRoute, async ({ caller, address, offeredKey }) => {
        const id = commandIdOf(caller, address, offeredKey as string)
        const known = rebuilds.read(id)
        // Publishes the request again, in case only its status was published and the request itself was lost. The
        // worker does not repeat a rebuild that has started.
        const isUnderWay = known !== undefined && known.state !== 'requested'
        const requestedAt = known?.requested_at ?? now()
        return jsonAnswer(202, shown(isUnderWay ? known : await request(id, caller?.subject ?? address, requestedAt)), PRIVATE)
      }),
      bind(readRebuildRoute, ({ params: { rebuild_id } }) => {
        const found = rebuilds.read(rebuild_id)
        if (found === undefined) throw new ApiError(errors.not_found)
        return jsonAnswer(200, shown(found), PRIVATE)
      }),
    ],
  }
}

function shown({ rebuild_id, index_name, state, done, total, requested_at, started_at, updated_at }: IndexRebuildStatus) {
  return {
    rebuild_id,
    index: index_name,
    state,
    progress: state === 'complete' ? 1 : total === 0 ? 0 : done / total,
    requested_at: new Date(requested_at).toISOString(),
    started_at: started_at === null ? null : new Date(started_at).toISOString(),
    completed_at: state === 'complete' ? new Date(updated_at).toISOString() : null,
  }
}
