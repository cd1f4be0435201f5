import { Cluster, Redis, type RedisOptions } from 'ioredis'

export interface RedisPlace {
  readonly url: string
  /** True: `url` is any node of a cluster. */
  readonly cluster: boolean
}

/** How one kind of user wants its connection to behave. */
export interface ConnectionOptions extends RedisPlace {
  readonly settings: RedisOptions
  readonly onLost: (reason: string) => void
  /** @param wasLost false at the first connection that nothing went before */
  readonly onReady: (wasLost: boolean) => void
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

/** A Redis that holds views. It connects again after every loss; while it is away commands fail at once, so that nothing queues. */
export function connectRedis({ url, cluster, settings, onLost, onReady }: ConnectionOptions): Redis | Cluster {
  const redisOptions = { ...settings, enableOfflineQueue: false, maxRetriesPerRequest: 0 }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? new Cluster([url], { redisOptions, enableOfflineQueue: false, clusterRetryStrategy: retryStrategy })
    : new Redis(url, { ...redisOptions, retryStrategy })
  let isLost = false
  redis.on('error', (error: Error) => {
    if (!isLost) onLost(error.message)
    isLost = true
  })
  redis.on('ready', () => {
    onReady(isLost)
    isLost = false
  })
  return redis
}

/** The Redis that a sink writes views to. A sink tries a failed command again. */
export function connectSinkRedis(place: RedisPlace, log: SinkLog): Redis | Cluster {
  return connectRedis({
    ...place,
    settings: {
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // After a failover the address may belong to another server by now.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    },
    onLost: (reason) => log.warn({ reason }, 'sink_redis_lost'),
    onReady: (wasLost) => wasLost && log.info({}, 'sink_redis_back'),
  })
}
