import { createHash } from 'node:crypto'
import keySlot from 'cluster-key-slot'
import { Cluster, Redis } from 'ioredis'
import type { ScriptRunner } from './counter-store.ts'
import { DECIDE_SCRIPT } from './script.ts'

export interface LimiterRedisOptions {
  readonly url: string
  /** True: `url` is any node of a cluster. */
  readonly cluster: boolean
}

export interface LimiterRedis {
  readonly scripts: ScriptRunner
  /** Deletes counters. Rejects when Redis does not answer. */
  forget(keys: readonly string[]): Promise<void>
  close(): void
}

const CONNECT_TIMEOUT_MS = 2_000
/** A server that has stopped without closing its connections is given up, and connected to again. */
const SILENT_SOCKET_MS = 2_000
const RECONNECT_STEP_MS = 20
/** As often as the circuit probes. */
const LONGEST_RECONNECT_MS = 200
const SCRIPT_SHA = createHash('sha1').update(DECIDE_SCRIPT).digest('hex')

/**
 * A connection for counters alone: large answers of views do not delay it. Commands fail at once while it is away, and none is repeated:
 * the caller has been let through by then.
 */
export function connectLimiterRedis({ url, cluster }: LimiterRedisOptions): LimiterRedis {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_SOCKET_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // After a failover the address may belong to another server by now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  const retryStrategy = (times: number) => Math.min(times * RECONNECT_STEP_MS, LONGEST_RECONNECT_MS)
  const redis = cluster
    ? new Cluster([url], {
        redisOptions: common,
        enableOfflineQueue: false,
        enableAutoPipelining: true,
        // By default what was on its way is sent again, and would be counted twice.
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        clusterRetryStrategy: retryStrategy,
      })
    : new Redis(url, { ...common, retryStrategy })
  // Failures are told by the commands that meet them.
  redis.on('error', () => undefined)
  return limiterRedis(redis)
}

/** On a client of the caller's own. It must fail commands at once while it is away: `enableOfflineQueue: false`. */
export function limiterRedis(redis: Redis | Cluster): LimiterRedis {
  // One signature for both: their overloads cannot be called through the union.
  const commands = redis as Redis

  async function run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]> {
    try {
      return (await commands.evalsha(SCRIPT_SHA, keys.length, ...keys, ...args)) as number[]
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return (await commands.eval(DECIDE_SCRIPT, keys.length, ...keys, ...args)) as number[]
    }
  }

  const placement =
    redis instanceof Cluster
      ? { groupOf: (tag: string) => String(keySlot(tag)), nodeOf: (group: string) => redis.slots[Number(group)]?.[0] ?? '' }
      : { groupOf: () => '', nodeOf: () => '' }

  return {
    scripts: { run, ...placement },
    async forget(keys) {
      await Promise.all(keys.map((key) => commands.del(key)))
    },
    close() {
      redis.disconnect()
    },
  }
}
