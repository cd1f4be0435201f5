import { type Cluster, Command, type Redis } from 'ioredis'
import { type BoundedScripts, boundedScripts, ScriptUnavailableError } from '../../state/redis/bounded-scripts.ts'
import { connectScriptRedis } from '../../state/redis/connect-scripts.ts'
import { readHashes } from '../../state/redis/read-hashes.ts'
import { connectRedis, type RedisPlace } from '../../state/views/connect.ts'
import { viewReader } from '../../state/views/reader.ts'
import type { BinaryReader, ListReader, ScoreReader, ViewReader, ViewScripts } from '../../state/views/view.ts'
import type { BindingsRedis } from './commands/idempotency.ts'
import { ApiError, errors } from './errors.ts'
import type { PartitionMemory } from './facts.ts'
import type { Logger } from './logging.ts'
import type { ReadinessProbe } from './readiness.ts'
import { type SharedReader, sharedReads } from './shared-reads.ts'

export interface ViewRedis {
  readonly reader: ViewReader & ListReader & ScoreReader & BinaryReader
  /**
   * Reads small values and hashes that are requested very often. These reads have no guaranteed order relative to other
   * reads.
   */
  readonly shared: SharedReader
  /** Data that the API itself stores in Redis: bindings of idempotency keys, and partition counts. */
  readonly bindings: BindingsRedis
  readonly partitions: PartitionMemory
  /**
   * Runs scripts on data of the views and on data that the API itself keeps, on a separate connection and with a time
   * limit. While Redis is known not to respond, scripts fail immediately.
   */
  readonly scripts: ViewScripts
  readonly probe: ReadinessProbe
  /** Reports whether Redis is configured to evict data when its memory is full. */
  readonly evictionProbe: ReadinessProbe
  close(): Promise<void>
}

export interface ViewRedisOptions extends RedisPlace {
  readonly log: Logger
  /** Monotonic ms. */
  monotonic(): number
}

/**
 * Time limit of a command. A command normally takes well under a millisecond. If it exceeds the limit, the caller gets
 * a 503.
 */
const COMMAND_TIMEOUT_MS = 1_000
const CONNECT_TIMEOUT_MS = 2_000
/** Settings of connections that read views. */
export const READING = { commandTimeout: COMMAND_TIMEOUT_MS, connectTimeout: CONNECT_TIMEOUT_MS } as const
const PARTITIONS_KEY = 'api:partitions'

/**
 * Opens a connection for reading the views in Redis and for the API's own data, and a second connection for scripts.
 * Both reconnect after every loss. While Redis is unreachable, commands fail immediately with `unavailable`, so that no
 * requests queue up.
 */
export function connectViewRedis({ url, cluster, log, monotonic }: ViewRedisOptions): ViewRedis {
  let evictionFault: string | undefined
  const redis = connectRedis({
    url,
    cluster,
    // Auto-pipelining sends the commands of one event loop turn in one write.
    settings: { ...READING, enableAutoPipelining: true },
    onLost: (reason) => log.warn({ reason }, 'redis_lost'),
    onReady: () => log.info({}, 'redis_ready'),
    onEviction(reason) {
      evictionFault = reason
      if (reason !== undefined) log.error({ reason }, 'redis_evicts_keys')
    },
  })

  const scriptRedis = connectScriptRedis({ url, cluster })
  const scripts = boundedScripts({ redis: scriptRedis, timeoutMs: COMMAND_TIMEOUT_MS, monotonic })

  return {
    shared: sharedReader(redis),
    reader: viewReader(redis, ask),
    scripts: { run: (...call) => runOrUnavailable(scripts, call) },
    bindings: {
      get: (key) => ask(redis.get(key)),
      setIfAbsent: (key, value, seconds) => ask(redis.set(key, value, 'EX', seconds, 'NX', 'GET')),
      delete: (key) => ask(redis.del(key)),
    },
    partitions: {
      load: () => ask(redis.get(PARTITIONS_KEY)),
      save: async (text) => void (await ask(redis.set(PARTITIONS_KEY, text))),
    },
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
      scriptRedis.disconnect()
    },
  }
}

/**
 * Creates a reader whose reads share commands. Its commands bypass auto-pipelining, because auto-pipelining would defer
 * them to the next turn of the event loop.
 */
export function sharedReader(redis: Redis | Cluster): SharedReader {
  const readAll = <T>(keys: string[], replyEncoding: 'utf8' | null) =>
    ask(redis.sendCommand(new Command('mget', keys, { replyEncoding })) as Promise<T[]>)
  return sharedReads({
    readValues: (keys) => readAll<string | null>(keys, 'utf8'),
    readBuffers: (keys) => readAll<Buffer | null>(keys, null),
    readHashes: (keys) => ask(readHashes(redis, keys)),
  })
}

async function ask<T>(command: Promise<T>): Promise<T> {
  try {
    return await command
  } catch (cause) {
    throw unavailable(cause)
  }
}

async function runOrUnavailable(scripts: BoundedScripts, call: Parameters<BoundedScripts['run']>): Promise<unknown> {
  try {
    return await scripts.run(...call)
  } catch (error) {
    throw error instanceof ScriptUnavailableError ? unavailable(error) : error
  }
}

function unavailable(cause: unknown): ApiError {
  return new ApiError(errors.unavailable, { message: 'The view store does not respond. Try again shortly.', cause })
}
