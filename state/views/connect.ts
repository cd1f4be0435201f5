import { Cluster, Redis } from 'ioredis'

export interface SinkRedisOptions {
  readonly url: string
  /** True: `url` is any node of a cluster. */
  readonly cluster: boolean
}

/** Event name second, as pino takes them. */
interface SinkLog {
  warn(fields: object, event: string): void
  info(fields: object, event: string): void
}

/** A batch takes milliseconds; one that takes this long is tried again, and its stored offset tells whether it was applied. */
const COMMAND_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5_000
/** Redis restarts in less; retries stay this near to it. */
const LONGEST_RECONNECT_MS = 1_000
const RECONNECT_STEP_MS = 50

/** The Redis that a sink writes views to. It reconnects by itself; meanwhile commands fail at once, and the sink tries again. */
export function connectSinkRedis({ url, cluster }: SinkRedisOptions, log: SinkLog): Redis | Cluster {
  const common = {
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // After a failover the address may belong to another server by now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? new Cluster([url], { redisOptions: common, enableOfflineQueue: false, clusterRetryStrategy: retryStrategy })
    : new Redis(url, { ...common, retryStrategy })
  let isLost = false
  redis.on('error', (error: Error) => {
    if (!isLost) log.warn({ reason: error.message }, 'sink_redis_lost')
    isLost = true
  })
  redis.on('ready', () => {
    if (isLost) log.info({}, 'sink_redis_back')
    isLost = false
  })
  return redis
}
