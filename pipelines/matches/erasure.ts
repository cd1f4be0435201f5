import { erasureTimes } from '../../state/erasure.ts'
import { connectSinkClickhouse } from '../../state/tables/connect.ts'
import { userEraser } from '../../state/tables/matches/erase.ts'
import { periodicJob, type Runner } from '../engine/index.ts'
import type { SinkContext } from '../sinks.ts'

/**
 * Removes the rows of deleted users from ClickHouse. The job runs in the first worker slot of each machine. Several
 * machines may run it at the same time, because deleting rows twice has no further effect.
 */
export function matchErasure({ config, runtime }: SinkContext): Runner {
  const client = connectSinkClickhouse(config.clickhouse)
  const eraser = userEraser(client, { cluster: config.clickhouseCluster })

  async function run(): Promise<void> {
    const removed = await eraser.run(runtime.now())
    if (removed > 0) runtime.log.info({ removed }, 'match_rows_erased')
  }

  const everyMs = erasureTimes(config.eraseWithinMs).scrubEveryMs
  const job = periodicJob({ name: 'match-erasure', everyMs, run, close: () => void client.close() }, runtime)
  return config.slot === 0 ? job : { ...job, start: async () => undefined }
}
