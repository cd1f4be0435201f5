import { createHash } from 'node:crypto'

/** A Lua script for Redis. Its source must not depend on input, because servers keep every source that they receive. */
export interface RedisScript {
  /** Name of the script in messages. */
  readonly name: string
  readonly source: string
  /** True if the script's result must be returned as a Buffer instead of text. */
  readonly returnsBytes?: boolean
}

export type ScriptArgument = string | number | Buffer

/**
 * The methods of an ioredis client (`Redis` or `Cluster`) that run scripts. This structural type accepts clients from
 * any copy or version of ioredis, unlike the classes of ioredis.
 */
export interface ScriptClient {
  evalsha(sha1: string, numkeys: number, ...args: ScriptArgument[]): Promise<unknown>
  eval(script: string, numkeys: number, ...args: ScriptArgument[]): Promise<unknown>
  /** Needed for scripts with `returnsBytes`. */
  evalshaBuffer?(sha1: string, numkeys: number, ...args: ScriptArgument[]): Promise<unknown>
  evalBuffer?(script: string, numkeys: number, ...args: ScriptArgument[]): Promise<unknown>
  /** True for a `Cluster`. */
  readonly isCluster?: boolean
}

const shas = new WeakMap<RedisScript, string>()

/** Runs the script by its hash, and sends the source only to a server that has not received it yet. */
export async function runScript(
  redis: ScriptClient,
  script: RedisScript,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<unknown> {
  try {
    return await byHash(redis, script, keys, args)
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
    return await bySource(redis, script, keys, args)
  }
}

function byHash(redis: ScriptClient, script: RedisScript, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown> {
  const sha = shaOf(script)
  if (script.returnsBytes !== true) return redis.evalsha(sha, keys.length, ...keys, ...args)
  if (redis.evalshaBuffer === undefined) throw new Error(`script ${script.name} returns bytes, but the Redis client has no evalshaBuffer`)
  return redis.evalshaBuffer(sha, keys.length, ...keys, ...args)
}

function bySource(redis: ScriptClient, script: RedisScript, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown> {
  if (script.returnsBytes !== true) return redis.eval(script.source, keys.length, ...keys, ...args)
  if (redis.evalBuffer === undefined) throw new Error(`script ${script.name} returns bytes, but the Redis client has no evalBuffer`)
  return redis.evalBuffer(script.source, keys.length, ...keys, ...args)
}

/** Returns the hash by which a server identifies a script. */
export function shaOf(script: RedisScript): string {
  let sha = shas.get(script)
  if (sha === undefined) {
    sha = createHash('sha1').update(script.source).digest('hex')
    shas.set(script, sha)
  }
  return sha
}
