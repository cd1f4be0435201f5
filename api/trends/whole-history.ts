import { trendVolumes } from '../../schemas/trends/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'

const RETRY_AFTER_SECONDS = 5

/**
 * Throws ApiError `not_ready` while the table of volumes is being filled. Call it after volumes are read: if the table
 * was dropped and recreated in between, the check sees the new table, which has not caught up.
 */
export async function historyMustBeWhole(reader: TableReader, facts: Pick<Facts, 'partitionsOf'>): Promise<void> {
  const partitions = facts.partitionsOf(trendVolumes)
  if ((await caughtUpPartitions(reader, trendVolumesTable.name)) >= partitions) return
  const message = 'The history is still being built. Try again shortly.'
  throw new ApiError(errors.not_ready, { message, retryAfter: RETRY_AFTER_SECONDS })
}
