import { Cluster, type Redis } from 'ioredis'

/**
 * Makes Redis rewrite its append-only files, which otherwise contain replaced and deleted values until the files have
 * doubled in size. Servers that keep no such files, or that do not allow it, are left alone.
 */
export async function rewriteRedisLogs(redis: Redis | Cluster): Promise<void> {
  const nodes = redis instanceof Cluster ? redis.nodes('all') : [redis]
  for (const node of nodes) {
    if (!/^aof_enabled:1/m.test(await node.info('persistence'))) continue
    // A rewrite that is under way may have read what was deleted since, so it does not count.
    await node.bgrewriteaof()
  }
}
