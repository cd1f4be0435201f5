import { Cluster, type Redis } from 'ioredis'

/** Errors of a server that does not have the command, or does not allow this user to call it. */
const NOT_ALLOWED = /^(NOPERM|ERR unknown command)/

/**
 * Makes Redis rewrite its append-only files. Without a rewrite, the files contain replaced and deleted values until
 * they have doubled in size. Does nothing on servers that have no append-only files or do not allow the command.
 */
export async function rewriteRedisLogs(redis: Redis | Cluster): Promise<void> {
  const nodes = redis instanceof Cluster ? redis.nodes('all') : [redis]
  for (const node of nodes) {
    if (!/^aof_enabled:1/m.test(await node.info('persistence'))) continue
    // Redis refuses the command while a rewrite is running. That rewrite may already have written values that were
    // deleted later, so the error is passed on.
    await node.bgrewriteaof().catch((error: Error) => {
      if (!NOT_ALLOWED.test(error.message)) throw error
    })
  }
}
