import { Command } from 'ioredis'
import { type BoundedScripts, boundedScripts, ScriptUnavailableError } from '../../state/redis/bounded-scripts.ts'
import { connectScriptRedis } from '../../state/redis/connect-scripts.ts'
import { readHashes } from '../../state/redis/read-hashes.ts'
import { connectRedis, type RedisPlace } from '../../state/views/connect.ts'
import { viewReader } from '../../state/views/reader.ts'
import type { BinaryReader, ListReader, ScoreReader, ViewReader, ViewScripts } from '../../state/views/view.ts'
import type { SetIfAbsent } from './commands/idempotency.ts'
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
  readonly bindings: SetIfAbsent
  readonly partitions: PartitionMemory
  /**
   * Runs scripts on the data of the views, on a separate connection. While Redis does not respond, scripts fail
   * immediately.
   */
  readonly scripts: ViewScripts
  readonly probe: ReadinessProbe
  /** Reports whether Redis is configured to remove data when its memory is full. */
  readonly evictionProbe: ReadinessProbe
  close(): Promise<void>
}

export interface ViewRedisOptions extends RedisPlace {
  readonly log: Logger
  /** Monotonic ms. */
  monotonic(): number
}

/** Time limit of a read, which normally takes well under a millisecond. A slower read leads to a 503. */
const COMMAND_TIMEOUT_MS = 1_000
const CONNECT_TIMEOUT_MS = 2_000
const PARTITIONS_KEY = 'api:partitions'

/**
 * Opens a connection for reading the views in Redis. Reconnects after every connection loss. While Redis is
 * unreachable, commands fail immediately with `unavailable`, so that no requests queue up.
 */
export function connectViewRedis({ url, cluster, log, monotonic }: ViewRedisOptions): ViewRedis {
  let evictionFault: string | undefined
  const redis = connectRedis({
    url,
    cluster,
    settings: {
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Auto-pipelining sends the commands of one event loop turn in one write.
      enableAutoPipelining: true,
    },
    onLost: (reason) => log.warn({ reason }, 'redis_lost'),
    onReady: () => log.info({}, 'redis_ready'),
    onEviction(reason) {
      evictionFault = reason
      if (reason !== undefined) log.error({ reason }, 'redis_evicts_keys')
    },
  })

  const scriptRedis = connectScriptRedis({ url, cluster })
  const scripts = boundedScripts({ redis: scriptRedis, timeoutMs: COMMAND_TIMEOUT_MS, monotonic })

  async function ask<T>(command: Promise<T>): Promise<T> {
    try {
      return await command
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  /** Reads values without auto-pipelining, which would defer the command to the next event loop turn. */
  function readValues(keys: string[]): Promise<(string | null)[]> {
    const command = new Command('mget', keys, { replyEncoding: 'utf8' })
    return ask(redis.sendCommand(command) as Promise<(string | null)[]>)
  }

  function readBuffers(keys: string[]): Promise<(Buffer | null)[]> {
    return ask(redis.sendCommand(new Command('mget', keys, { replyEncoding: null })) as Promise<(Buffer | null)[]>)
  }

  return {
    shared: sharedReads({ readValues, readBuffers, readHashes: (keys) => ask(readHashes(redis, keys)) }),
    reader: viewReader(redis, ask),
    scripts: { run: (...call) => runOrUnavailable(scripts, call) },
    bindings: { setIfAbsent: (key, value, seconds) => ask(redis.set(key, value, 'EX', seconds, 'NX', 'GET')) },
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
