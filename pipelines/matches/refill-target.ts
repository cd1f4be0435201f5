import type { Runtime } from '../../runtime/runtime.ts'
import type { StackRefillRequest } from '../../schemas/matches/types.ts'
import type { Refill } from '../../state/views/matches/refill.ts'
import type { SinkBatch, SinkTarget, WriteResult } from '../engine/index.ts'

export interface RefillTargetDeps {
  /** @param partition the request's partition, which is also the user's partition in the view */
  refill(partition: number, userId: string): Promise<Refill>
  readonly runtime: Pick<Runtime, 'now' | 'log'>
}

/**
 * Limits of a batch. A batch blocks its partition until all its searches end, so it is small. The searches run
 * concurrently and take milliseconds each.
 */
const LIMITS = { maxRecords: 16, maxBytes: 16 * 1_024, lingerMs: 0 }
/**
 * Age at which a request is skipped. By then, the user may claim another refill, and a feed request may already have
 * run the search.
 */
const WORTHLESS_AFTER_MS = 30_000

/**
 * Creates the target that builds the stacks that are requested in the topic `stack-refill-requests`. A failed request
 * is only logged and an old request is skipped, because a feed without a valid stack runs the search itself.
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
