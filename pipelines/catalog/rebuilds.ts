import { indexRebuild, indexRebuilds } from '../../schemas/catalog/rebuilds/topics.ts'
import type { IndexRebuild, IndexRebuildStatus } from '../../schemas/catalog/types.ts'
import type { IndexRebuilds } from '../sinks.ts'

/** The topics for requests to rebuild the product index, and for the progress of the rebuilds. */
export const productsRebuilds: IndexRebuilds<IndexRebuild, IndexRebuildStatus> = {
  requests: indexRebuild,
  progress: indexRebuilds,
  requestId: ({ rebuild_id }) => rebuild_id,
  isComplete: ({ state }) => state === 'complete',
  statusOf: ({ index, state, done, total, startedAt }, { rebuild_id, requested_at }, at) => ({
    rebuild_id,
    index_name: index,
    state,
    done,
    total,
    requested_at,
    started_at: startedAt,
    updated_at: at,
  }),
}
