import { type RedisScript, runScript, type ScriptClient } from '../../../state/redis/run-script.ts'
import { serversOfKeys } from '../../../state/redis/servers.ts'
import type { ScriptRunner } from './counter.ts'
import { DECIDE_SCRIPT } from './script.ts'

/** The parts of an ioredis client, `Redis` or `Cluster`, that the limiter uses. */
export type RedisClient = ScriptClient

const DECIDE: RedisScript = { name: 'decide', source: DECIDE_SCRIPT }

/**
 * Runs the limiter's script with an ioredis client.
 * @param redis client that fails commands immediately while Redis is unreachable (`enableOfflineQueue: false`)
 */
export function redisScripts(redis: RedisClient): ScriptRunner {
  return {
    run: (keys, args) => runScript(redis, DECIDE, keys, args) as Promise<number[]>,
    ...serversOfKeys(redis),
  }
}
