import type { ClickHouseClient } from '@clickhouse/client'
import { erasureTimes } from '../state/erasure.ts'
import { connectSinkClickhouse } from '../state/tables/connect.ts'
import { connectSinkRedis } from '../state/views/connect.ts'
import { rewriteRedisLogs } from '../state/views/rewrite-log.ts'
import { periodicJob, type Runner } from './engine/index.ts'
import { inFirstSlot } from './first-slot.ts'
import type { SinkContext } from './sinks.ts'

/**
 * Time limit of a request to ClickHouse. ClickHouse responds when all parts with erased rows are rewritten, which may
 * take many minutes for a large table.
 */
const CLICKHOUSE_TIMEOUT_MS = 15 * 60_000

export interface Erasure {
  readonly name: string
  /**
   * Number of times that the log files of Redis are rewritten after the last erasure, once per run. All remaining
   * values that contain erased data must have expired before the last rewrite, so that the rewrite removes them.
   */
  readonly rewrites: number
  /**
   * True if the first run cannot find out whether data was erased shortly before the start. The log files of Redis are
   * then also rewritten after each start.
   */
  readonly isUnknownAtStart: boolean
  /**
   * Returns a function that erases rows from ClickHouse. This function returns whether anything has been erased since
   * its last call.
   */
  open(client: ClickHouseClient): () => Promise<boolean>
}

/**
 * Creates a job that removes erased rows from ClickHouse. The job also rewrites the log files of Redis, because
 * replaced values stay in these files until the next rewrite. The job runs in the first worker slot of each machine.
 */
export function erasureJob({ name, rewrites, isUnknownAtStart, open }: Erasure, { config, runtime }: SinkContext): Runner {
  const redis = connectSinkRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
  const client = connectSinkClickhouse(config.clickhouse, CLICKHOUSE_TIMEOUT_MS)
  const erase = open(client)
  let left = isUnknownAtStart ? rewrites : 0

  async function run(signal: AbortSignal): Promise<void> {
    if (await erase()) left = rewrites
    if (left === 0) return
    await rewriteRedisLogs(redis, runtime, signal)
    left--
  }

  function close(): void {
    redis.disconnect()
    void client.close()
  }

  const everyMs = erasureTimes(config.eraseWithinMs).scrubEveryMs
  return inFirstSlot(config, periodicJob({ name, everyMs, run, close }, runtime))
}
