import { erasureTimes } from '../../state/erasure.ts'
import { connectSinkClickhouse } from '../../state/tables/connect.ts'
import { tablePurger } from '../../state/tables/purge.ts'
import { snippetsPurge } from '../../state/tables/snippets/snippets.ts'
import { connectSinkRedis } from '../../state/views/connect.ts'
import { rewriteRedisLogs } from '../../state/views/rewrite-log.ts'
import { periodicJob, type Runner } from '../engine/index.ts'
import type { SinkContext } from '../sinks.ts'

/**
 * How often Redis' files are rewritten after the last erasure. In the meantime, the records that are kept for repeated
 * reads expire.
 */
const REWRITES_AFTER_ERASURE = 6

/**
 * Rewrites the files of ClickHouse and Redis after snippets were erased, because both keep replaced values until they
 * need the space. Runs in the first worker slot of each machine. Several runs at once do no harm.
 */
export function snippetErasure({ config, runtime }: SinkContext): Runner {
  const { log } = runtime
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, log)
  const client = connectSinkClickhouse(config.clickhouse)
  const purger = tablePurger(client, snippetsPurge, { cluster: config.clickhouseCluster })
  let rewrites = REWRITES_AFTER_ERASURE

  async function run(): Promise<void> {
    const { removed, hasErased } = await purger.run()
    if (hasErased) rewrites = REWRITES_AFTER_ERASURE
    if (removed > 0) log.info({ removed }, 'snippet_rows_purged')
    if (rewrites === 0) return
    await rewriteRedisLogs(redis)
    rewrites--
  }

  function close(): void {
    redis.disconnect()
    void client.close()
  }

  const job = periodicJob({ name: 'snippet-erasure', everyMs: erasureTimes(config.eraseWithinMs).scrubEveryMs, run, close }, runtime)
  return config.slot === 0 ? job : { ...job, start: async () => undefined }
}
