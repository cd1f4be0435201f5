import { Cluster, type Redis } from 'ioredis'
import type { Runtime } from '../../runtime/runtime.ts'

/** Errors of a server that does not have the command, or does not allow this user to call it. */
const NOT_ALLOWED = /^(NOPERM|ERR unknown command)/
/** The error of a server that is rewriting its files. */
const IS_REWRITING = /already in progress/
const ASK_AGAIN_MS = 1_000
/** The wait is limited, so that a rewrite that hangs does not delay the other work of the caller forever. */
const LONGEST_WAIT_MS = 300_000

/**
 * Makes Redis rewrite its append-only files. Without a rewrite, the files contain replaced and deleted values until
 * they have doubled in size. Does nothing on servers that have no append-only files. A server that does not allow the
 * command is reported in the log, because its operator then has to rewrite the files.
 * @param signal ends waiting for a rewrite that is running
 */
export async function rewriteRedisLogs(
  redis: Redis | Cluster,
  { monotonic, sleep, log }: Pick<Runtime, 'monotonic' | 'sleep' | 'log'>,
  signal?: AbortSignal,
): Promise<void> {
  const nodes = redis instanceof Cluster ? redis.nodes('all') : [redis]
  const until = monotonic() + LONGEST_WAIT_MS
  for (const node of nodes) if (/^aof_enabled:1/m.test(await node.info('persistence'))) await rewrite(node)

  /**
   * Redis refuses the command while a rewrite is running, such as a rewrite that another job has requested. The running
   * rewrite may already have written values that were deleted later, so this function waits for its end and then
   * requests another rewrite.
   */
  async function rewrite(node: Redis): Promise<void> {
    for (;;) {
      try {
        return void (await node.bgrewriteaof())
      } catch (error) {
        const { message } = error as Error
        if (NOT_ALLOWED.test(message)) return log.warn({ reason: message }, 'redis_log_not_rewritten')
        if (!IS_REWRITING.test(message) || monotonic() >= until || signal?.aborted === true) throw error
        await sleep(ASK_AGAIN_MS, signal)
      }
    }
  }
}
