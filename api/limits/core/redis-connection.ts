import { connectScriptRedis, type ScriptRedisPlace } from '../../../state/redis/connect-scripts.ts'
import { readRedisMemory, usedRatio } from '../../../state/views/redis-memory.ts'
import type { ScriptRunner } from './counter.ts'
import { redisScripts } from './redis-scripts.ts'

export type LimiterRedisOptions = ScriptRedisPlace

export interface LimiterRedis {
  readonly scripts: ScriptRunner
  /** Returns the share of memory that is in use on the fullest server. Rejects if Redis does not respond. */
  usedMemory(): Promise<number>
  /** Deletes counters. Rejects if Redis does not respond. */
  forget(keys: readonly string[]): Promise<void>
  close(): void
}

/** Opens a connection to Redis that only the counters use. */
export function connectLimiterRedis(place: LimiterRedisOptions): LimiterRedis {
  const redis = connectScriptRedis(place)
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
