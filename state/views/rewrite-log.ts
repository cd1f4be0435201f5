import { Cluster, type Redis } from 'ioredis'

/**
 * Makes Redis rewrite its append-only files. Without a rewrite, the files contain replaced and deleted values until
 * they have doubled in size. Does nothing on servers that have no append-only files or do not allow the command.
 */
export async function rewriteRedisLogs(redis: Redis | Cluster): Promise<void> {
  const nodes = redis instanceof Cluster ? redis.nodes('all') : [redis]
  for (const node of nodes) {
    if (!/^aof_enabled:1/m.test(await node.info('persistence'))) continue
    // A rewrite that is already running may have written values that were deleted since, so a new one is requested.
    await node.bgrewriteaof()
  }
}
