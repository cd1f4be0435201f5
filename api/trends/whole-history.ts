import { trendRareVolumes, trendVolumes } from '../../schemas/trends/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { trendRareVolumesTable } from '../../state/tables/trends/trend-rare-volumes.ts'
import { trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'

const RETRY_AFTER_SECONDS = 5

/**
 * Checks that the tables of volumes are complete, and throws ApiError `not_ready` while one is being filled. Call this
 * function after reading volumes, so that it also detects a table that was recreated during the read.
 */
export async function historyMustBeWhole(reader: TableReader, facts: Pick<Facts, 'partitionsOf'>): Promise<void> {
  const [frequent, rare] = await caughtUpPartitions(reader, trendVolumesTable.name, trendRareVolumesTable.name)
  if (frequent >= facts.partitionsOf(trendVolumes) && rare >= facts.partitionsOf(trendRareVolumes)) return
  const message = 'The history is still being built. Try again shortly.'
  throw new ApiError(errors.not_ready, { message, retryAfter: RETRY_AFTER_SECONDS })
}
