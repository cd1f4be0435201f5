import { erasureTimes } from '../../state/erasure.ts'
import { connectSinkClickhouse } from '../../state/tables/connect.ts'
import { userEraser } from '../../state/tables/matches/erase.ts'
import { connectSinkRedis } from '../../state/views/connect.ts'
import { rewriteRedisLogs } from '../../state/views/rewrite-log.ts'
import { periodicJob, type Runner } from '../engine/index.ts'
import type { SinkContext } from '../sinks.ts'

/**
 * Number of times that Redis' files are rewritten after the last deletion of a user. Stacks of other users and results
 * of commands expire in the meantime, so the last rewrite no longer contains them.
 */
const REWRITES_AFTER_DELETION = 4

/**
 * Removes the rows of deleted users from ClickHouse, and rewrites the files of Redis, because they keep replaced values
 * until Redis needs the space. The job runs in the first worker slot of each machine. Several machines may run it at
 * the same time, because repetitions have no further effect.
 */
export function matchErasure({ config, runtime }: SinkContext): Runner {
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
  const client = connectSinkClickhouse(config.clickhouse)
  const eraser = userEraser(client, { cluster: config.clickhouseCluster })

  let lastDeletedAt = 0
  let rewrites = 0

  async function run(): Promise<void> {
    const { removed, deletedAt } = await eraser.run(runtime.now())
    if (removed > 0) runtime.log.info({ removed }, 'match_rows_erased')
    if (deletedAt > lastDeletedAt) rewrites = REWRITES_AFTER_DELETION
    lastDeletedAt = Math.max(lastDeletedAt, deletedAt)
    if (rewrites === 0) return
    await rewriteRedisLogs(redis)
    rewrites--
  }

  function close(): void {
    redis.disconnect()
    void client.close()
  }

  const everyMs = erasureTimes(config.eraseWithinMs).scrubEveryMs
  const job = periodicJob({ name: 'match-erasure', everyMs, run, close }, runtime)
  return config.slot === 0 ? job : { ...job, start: async () => undefined }
}
