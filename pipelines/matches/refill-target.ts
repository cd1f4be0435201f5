import type { Runtime } from '../../runtime/runtime.ts'
import type { StackRefillRequest } from '../../schemas/matches/types.ts'
import type { Refill } from '../../state/views/matches/refill.ts'
import type { SinkBatch, SinkTarget, WriteResult } from '../engine/index.ts'

export interface RefillTargetDeps {
  /** @param partition the request's partition, which is also the user's partition in the view */
  refill(partition: number, userId: string): Promise<Refill>
  readonly runtime: Pick<Runtime, 'now' | 'log'>
}

/** A batch blocks its partition until its searches end. They run at the same time, and each takes milliseconds. */
const LIMITS = { maxRecords: 16, maxBytes: 16 * 1_024, lingerMs: 0 }
/** After this time the user may claim the next refill, and a feed may have searched already. */
const WORTHLESS_AFTER_MS = 30_000

/**
 * Builds the stacks that `stack-refill-requests` ask for. A request that fails is only logged, and old ones are
 * skipped, because a feed without a valid stack runs the search itself.
 */
export function refillTarget({ refill, runtime }: RefillTargetDeps): SinkTarget {
  async function tryRefill(partition: number, userId: string): Promise<void> {
    try {
      await refill(partition, userId)
    } catch (error) {
      runtime.log.warn({ reason: (error as Error).message }, 'stack_not_refilled')
    }
  }

  return {
    name: 'stacks',
    limits: LIMITS,
    open: async (_partition, { committed, end }) => committed?.offset ?? end,
    prepare({ partition: { partition }, records }: SinkBatch): () => Promise<WriteResult> {
      return async function refillStacks() {
        const since = runtime.now() - WORTHLESS_AFTER_MS
        const requests = records.flatMap(({ value }) => (value as StackRefillRequest | null) ?? [])
        const users = new Set(requests.filter(({ ts }) => ts > since).map(({ user_id }) => user_id))
        await Promise.all([...users].map((userId) => tryRefill(partition, userId)))
        return { outcome: 'applied' }
      }
    },
  }
}
