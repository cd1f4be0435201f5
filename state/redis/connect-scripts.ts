import { type Cluster, Redis } from 'ioredis'
import { connectCluster } from './cluster.ts'
import { joinWrites } from './joined-writes.ts'

export interface ScriptRedisPlace {
  readonly url: string
  /** True if `url` is the address of a node of a cluster. */
  readonly cluster: boolean
}

const CONNECT_TIMEOUT_MS = 2_000
/**
 * Time without an answer after which a client reconnects. If the server's host loses power or its network connection,
 * nothing closes the client's connection, and the operating system would keep it open for about a quarter of an hour.
 */
export const SILENT_SOCKET_MS = 2_000
/**
 * Maximum number of times that ioredis sends a script again after an error reply of a cluster. Two are enough: to the
 * node that now has the slot, and from there to the node to which the slot is moving. With its default of 16, ioredis
 * repeats a script for up to 1.6 s while its slot is moving, and sends no other script to the node during this time.
 */
const MAX_REDIRECTIONS = 2
const RECONNECT_STEP_MS = 20
/** Longest pause between attempts to reconnect, equal to the longest pause between probes of the circuit. */
const LONGEST_RECONNECT_MS = 200

/**
 * Opens a connection that is used only for scripts, so that large responses to reads of views do not delay scripts.
 * While Redis is unreachable, commands fail immediately. No command is repeated, because its caller has already
 * continued without the answer.
 */
export function connectScriptRedis({ url, cluster }: ScriptRedisPlace): Redis | Cluster {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_SOCKET_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover, the address may belong to a replica, which refuses writes.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? connectCluster(url, {
        redisOptions: common,
        enableOfflineQueue: false,
        enableAutoPipelining: true,
        // By default, ioredis resends in-flight commands after a failover, so the server could apply them twice.
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        maxRedirections: MAX_REDIRECTIONS,
        retryDelayOnTryAgain: 0,
        clusterRetryStrategy: retryStrategy,
      })
    : withJoinedWrites(new Redis(url, { ...common, retryStrategy }))
  // Commands reject with the same errors, so the event needs no handling.
  redis.on('error', () => undefined)
  return redis
}

/**
 * Joins the writes of a connection. Auto-pipelining would send one pipeline at a time, so commands would wait for the
 * answers to earlier commands.
 */
function withJoinedWrites(redis: Redis): Redis {
  return redis.on('connect', () => joinWrites(redis.stream))
}
