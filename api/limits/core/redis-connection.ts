import { Cluster, Redis } from 'ioredis'
import { readRedisMemory, usedRatio } from '../../../state/views/redis-memory.ts'
import type { ScriptRunner } from './counter.ts'
import { redisScripts } from './redis-scripts.ts'

export interface LimiterRedisOptions {
  readonly url: string
  /** True if `url` is a node of a cluster. */
  readonly cluster: boolean
}

export interface LimiterRedis {
  readonly scripts: ScriptRunner
  /** Returns the part of the memory in use, of the fullest server. Rejects when Redis does not answer. */
  usedMemory(): Promise<number>
  /** Deletes counters. Rejects when Redis does not answer. */
  forget(keys: readonly string[]): Promise<void>
  close(): void
}

const CONNECT_TIMEOUT_MS = 2_000
/** Time after which the client connects again if a server has stopped without closing its connections. */
const SILENT_SOCKET_MS = 2_000
const RECONNECT_STEP_MS = 20
/** Longest pause between attempts to reconnect, equal to the longest pause between probes of the circuit. */
const LONGEST_RECONNECT_MS = 200

/**
 * Opens a connection that is used only for counters, so that large responses of views do not delay them. While Redis is
 * unreachable, commands fail immediately. No command is repeated, because its request has already been allowed.
 */
export function connectLimiterRedis({ url, cluster }: LimiterRedisOptions): LimiterRedis {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_SOCKET_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the address may belong to a replica.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? new Cluster([url], {
        redisOptions: common,
        enableOfflineQueue: false,
        enableAutoPipelining: true,
        // By default ioredis sends commands in flight again, which would count them twice.
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        clusterRetryStrategy: retryStrategy,
      })
    : new Redis(url, { ...common, retryStrategy })
  // Commands reject with their errors, so the event adds nothing.
  redis.on('error', () => undefined)
  return {
    scripts: redisScripts(redis),
    usedMemory: async () => usedRatio(await readRedisMemory(redis)),
    async forget(keys) {
      await Promise.all(keys.map((key) => redis.del(key)))
    },
    close() {
      redis.disconnect()
    },
  }
}
