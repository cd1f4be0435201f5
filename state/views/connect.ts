import { type Cluster, Redis, type RedisOptions } from 'ioredis'
import { connectCluster } from '../redis/cluster.ts'
import { SILENT_SOCKET_MS } from '../redis/connect-scripts.ts'
import { evictionFault, readRedisMemory } from './redis-memory.ts'

export interface RedisPlace {
  readonly url: string
  /** True if `url` is the address of a node of a cluster. */
  readonly cluster: boolean
}

/** Options of a connection. `settings` are the ioredis options that differ between the kinds of clients. */
export interface ConnectionOptions extends RedisPlace {
  readonly settings: RedisOptions
  readonly onLost: (reason: string) => void
  /** @param wasLost false for the first connection */
  readonly onReady: (wasLost: boolean) => void
  /**
   * Called after each connect and reconnect, if the Redis user may read the server's memory settings. `fault` is a
   * message if this Redis evicts keys when its memory is full, and undefined otherwise.
   */
  readonly onEviction: (fault: string | undefined) => void
}

/** A logger that takes the fields first and then the event name, as pino does. */
interface SinkLog {
  warn(fields: object, event: string): void
  info(fields: object, event: string): void
}

/**
 * Time limit of a command. A batch takes milliseconds. A batch that times out is retried, and the stored position shows
 * whether it was applied.
 */
const COMMAND_TIMEOUT_MS = 10_000
/** Time limit of a lookup by a sink. A lookup that fails is retried later. */
const READ_TIMEOUT_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000
/**
 * Longest pause between attempts to reconnect. It is short, so that the process reconnects soon after Redis is back.
 */
const LONGEST_RECONNECT_MS = 1_000
const RECONNECT_STEP_MS = 50

/**
 * Connects to a Redis that stores views. Reconnects when the connection is lost, and when Redis does not answer for too
 * long. Commands fail immediately while Redis is unavailable, so that none of them queue.
 */
export function connectRedis({ url, cluster, settings, onLost, onReady, onEviction }: ConnectionOptions): Redis | Cluster {
  const redisOptions = { socketTimeout: SILENT_SOCKET_MS, ...settings, enableOfflineQueue: false, maxRetriesPerRequest: 0 }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? connectCluster(url, { redisOptions, enableOfflineQueue: false, clusterRetryStrategy: retryStrategy })
    : new Redis(url, { ...redisOptions, retryStrategy })
  let isLost = false
  redis.on('error', (error: Error) => {
    if (!isLost) onLost(error.message)
    isLost = true
  })
  redis.on('ready', () => {
    onReady(isLost)
    isLost = false
    // This check is skipped if the Redis user may not read the server's memory settings. Only the server's operator can
    // then check the eviction policy.
    readRedisMemory(redis).then(
      (servers) => onEviction(evictionFault(servers)),
      () => undefined,
    )
  })
  return redis
}

/** Connects to the Redis that a sink writes views to. The sink retries failed commands. */
export function connectSinkRedis(place: RedisPlace, log: SinkLog): Redis | Cluster {
  return connectForSink(place, log, { commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout: COMMAND_TIMEOUT_MS })
}

/** Connects to the Redis that a sink only reads from. Reads in the same turn of the event loop share a request. */
export function connectLookupRedis(place: RedisPlace, log: SinkLog): Redis | Cluster {
  return connectForSink(place, log, { commandTimeout: READ_TIMEOUT_MS, enableAutoPipelining: true })
}

function connectForSink(place: RedisPlace, log: SinkLog, settings: RedisOptions): Redis | Cluster {
  return connectRedis({
    ...place,
    settings: {
      ...settings,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // After a failover, the address may belong to a replica, so the client reconnects.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    },
    onLost: (reason) => log.warn({ reason }, 'sink_redis_lost'),
    onReady: (wasLost) => wasLost && log.info({}, 'sink_redis_back'),
    onEviction: (reason) => reason !== undefined && log.warn({ reason }, 'redis_evicts_keys'),
  })
}
