import type { Cluster, Redis } from 'ioredis'

/** The memory of a Redis server, as `INFO memory` reports it. */
export interface RedisMemory {
  readonly usedBytes: number
  /** `maxmemory`, or the memory of the machine if `maxmemory` is not set. */
  readonly capacityBytes: number
  /** The policy that applies when `maxmemory` is reached; undefined if `maxmemory` is not set. */
  readonly policy: string | undefined
}

/**
 * The only policy that loses no data: writes fail when the memory is full. All other policies evict data that is in
 * use.
 */
const NO_EVICTION = 'noeviction'

/** Queries a Redis server, or all masters of a cluster. Rejects when any server does not answer. */
export async function readRedisMemory(redis: Redis | Cluster): Promise<RedisMemory[]> {
  const servers = 'nodes' in redis ? redis.nodes('master') : [redis]
  return await Promise.all(servers.map(async (server) => parseMemory(await server.info('memory'))))
}

export function parseMemory(info: string): RedisMemory {
  const fieldOf = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
  const numberOf = (name: string) => Number(fieldOf(name) ?? 0)
  const maximum = numberOf('maxmemory')
  return {
    usedBytes: numberOf('used_memory'),
    capacityBytes: maximum > 0 ? maximum : numberOf('total_system_memory'),
    policy: maximum > 0 ? fieldOf('maxmemory_policy') : undefined,
  }
}

/** Returns the share of its memory that the fullest server uses. */
export function usedRatio(servers: readonly RedisMemory[]): number {
  return Math.max(0, ...servers.map(({ usedBytes, capacityBytes }) => (capacityBytes === 0 ? 0 : usedBytes / capacityBytes)))
}

/**
 * Returns a message if a server evicts keys when its memory is full; undefined if none does. An evicted key of a view
 * looks like data that does not exist.
 */
export function evictionFault(servers: readonly RedisMemory[]): string | undefined {
  const policy = servers.map((server) => server.policy).find((one) => one !== undefined && one !== NO_EVICTION)
  if (policy === undefined) return undefined
  const lost = policy.startsWith('volatile-')
    ? 'keys with an expiry, such as results of commands and counters of rate limits'
    : 'views, results and counters'
  return `maxmemory-policy is ${policy}: when its memory is full, Redis removes ${lost}, and answers are wrong. Set noeviction.`
}
