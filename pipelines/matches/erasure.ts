import { userEraser } from '../../state/tables/matches/erase.ts'
import type { Runner } from '../engine/index.ts'
import { erasureJob } from '../erasure-job.ts'
import type { SinkContext } from '../sinks.ts'

/**
 * Number of times that the log files of Redis are rewritten after the last deletion of a user. Stacks and search
 * positions of other users, and results of commands, may still contain the deleted user. They expire within half an
 * hour. At the default interval, the last rewrite is 45 minutes after the first, so it removes them from the files.
 */
const REWRITES_AFTER_DELETION = 4

/** Creates the job that removes the data of deleted users from ClickHouse and from the log files of Redis. */
export function matchErasure(context: SinkContext): Runner {
  const { config, runtime } = context
  return erasureJob(
    {
      name: 'match-erasure',
      rewrites: REWRITES_AFTER_DELETION,
      // The value is false, because the first run finds the deletions of the last days anyway.
      isUnknownAtStart: false,
      open(client) {
        const eraser = userEraser(client, { cluster: config.clickhouseCluster })
        return async function erase() {
          const { removed, hasNew } = await eraser.run(runtime.now())
          if (removed > 0) runtime.log.info({ removed }, 'match_rows_erased')
          return hasNew
        }
      },
    },
    context,
  )
}
