import { createHash } from 'node:crypto'
import { Command } from 'ioredis'
import { connectRedis, type RedisPlace } from '../../state/views/connect.ts'
import type { ListReader, ViewReader, ViewScript, ViewScripts } from '../../state/views/view.ts'
import type { SetIfAbsent } from './commands/idempotency.ts'
import { ApiError, errors } from './errors.ts'
import type { PartitionMemory } from './facts.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'
import { sharedReads, type ValueReader } from './shared-reads.ts'

export interface ViewRedis {
  readonly reader: ViewReader & ListReader
  /** Reads small values that are requested very often. These reads are not ordered with other reads. */
  readonly shared: ValueReader
  /** Data that the API itself stores in Redis: bindings of idempotency keys, and partition counts. */
  readonly bindings: SetIfAbsent
  readonly partitions: PartitionMemory
  /** Runs scripts beside the views. A script that the server does not know yet is sent whole. */
  readonly scripts: ViewScripts
  readonly probe: ReadinessProbe
  /** Reports a Redis that removes data when its memory is full. */
  readonly evictionProbe: ReadinessProbe
  close(): Promise<void>
}

export interface ViewRedisOptions extends RedisPlace {
  readonly log: Logger
}

/** Time limit of a read, which normally takes well under a millisecond. A slower one becomes a 503. */
const COMMAND_TIMEOUT_MS = 1_000
const CONNECT_TIMEOUT_MS = 2_000
const PARTITIONS_KEY = 'api:partitions'

/**
 * Connects to the Redis that holds the views, for reading, and reconnects after every loss. While Redis is
 * unreachable, commands fail immediately with `unavailable`, so that no requests queue up.
 */
export function connectViewRedis({ url, cluster, log }: ViewRedisOptions): ViewRedis {
  let evictionFault: string | undefined
  const redis = connectRedis({
    url,
    cluster,
    settings: {
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Sends the commands of one event loop turn in one write.
      enableAutoPipelining: true,
    },
    onLost: (reason) => log.warn({ reason }, 'redis_lost'),
    onReady: () => log.info({}, 'redis_ready'),
    onEviction(reason) {
      evictionFault = reason
      if (reason !== undefined) log.error({ reason }, 'redis_evicts_keys')
    },
  })

  async function ask<T>(command: Promise<T>): Promise<T> {
    try {
      return await command
    } catch (cause) {
      throw new ApiError(errors.unavailable, { message: 'The view store does not respond. Try again shortly.', cause })
    }
  }

  /** Bypasses auto-pipelining, which would defer the command to the next event loop turn. */
  function readAll(keys: string[]): Promise<(string | null)[]> {
    const command = new Command('mget', keys, { replyEncoding: 'utf8' })
    return ask(redis.sendCommand(command) as Promise<(string | null)[]>)
  }

  async function evaluate(script: ViewScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(shaOf(script), keys.length, ...keys, ...args)
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return await redis.eval(script.source, keys.length, ...keys, ...args)
    }
  }

  return {
    shared: sharedReads(readAll),
    reader: {
      get: (key) => ask(redis.get(key)),
      hget: (key, field) => ask(redis.hget(key, field)),
      hmget: (key, fields) => ask(redis.hmget(key, ...fields)),
      zcard: (key) => ask(redis.zcard(key)),
      zrevrange: (key, start, stop) => ask(redis.zrevrange(key, start, stop)),
      zrange: (key, start, stop) => ask(redis.zrange(key, String(start), String(stop))),
      zrangebylex: (key, min, max, offset, count) => ask(redis.zrangebylex(key, min, max, 'LIMIT', offset, count)),
      hgetall: (key) => ask(redis.hgetall(key)),
    },
    bindings: { setIfAbsent: (key, value, seconds) => ask(redis.set(key, value, 'EX', seconds, 'NX', 'GET')) },
    partitions: {
      load: () => ask(redis.get(PARTITIONS_KEY)),
      save: async (text) => void (await ask(redis.set(PARTITIONS_KEY, text))),
    },
    scripts: { run: (script, keys, args) => ask(evaluate(script, keys, args)) },
    probe: {
      name: 'redis',
      async check() {
        await redis.ping()
        return undefined
      },
    },
    evictionProbe: { name: 'redis eviction', optional: true, check: async () => evictionFault },
    async close() {
      redis.disconnect()
    },
  }
}

const hashes = new WeakMap<ViewScript, string>()

function shaOf(script: ViewScript): string {
  const known = hashes.get(script)
  if (known !== undefined) return known
  const sha = createHash('sha1').update(script.source).digest('hex')
  hashes.set(script, sha)
  return sha
}
