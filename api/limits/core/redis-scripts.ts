import { createHash } from 'node:crypto'
import keySlot from 'cluster-key-slot'
import type { ScriptRunner } from './counter.ts'
import { DECIDE_SCRIPT } from './script.ts'

/**
 * The parts of an ioredis client, `Redis` or `Cluster`, that the limiter uses. A structural type instead of ioredis'
 * classes accepts clients of any copy or version of ioredis.
 */
export interface RedisClient {
  evalsha(sha1: string, numkeys: number, ...args: (string | number)[]): Promise<unknown>
  eval(script: string, numkeys: number, ...args: (string | number)[]): Promise<unknown>
  /** True for a `Cluster`. */
  readonly isCluster?: boolean
}

/** A `Cluster`, which knows the servers of each hash slot, the master first. */
interface ClusterClient extends RedisClient {
  readonly slots: readonly (readonly string[] | undefined)[]
}

const SCRIPT_SHA = createHash('sha1').update(DECIDE_SCRIPT).digest('hex')

/** @param redis must fail commands immediately while it is unreachable (`enableOfflineQueue: false`) */
export function redisScripts(redis: RedisClient): ScriptRunner {
  async function run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]> {
    try {
      return (await redis.evalsha(SCRIPT_SHA, keys.length, ...keys, ...args)) as number[]
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return (await redis.eval(DECIDE_SCRIPT, keys.length, ...keys, ...args)) as number[]
    }
  }

  if (!isClusterClient(redis)) return { run, groupOf: () => '', nodeOf: () => '' }
  return {
    run,
    groupOf: (tag) => String(keySlot(tag)),
    nodeOf: (group) => redis.slots[Number(group)]?.[0] ?? '',
  }
}

function isClusterClient(redis: RedisClient): redis is ClusterClient {
  return redis.isCluster === true
}
