import type { CancelTimer } from '../../../runtime/runtime.ts'

/**
 * Minimum time between two starts. A payment that arrives in between waits for the next start, so at most for this
 * time. At 1,000 payments a second, four payments start together.
 */
const START_EVERY_MS = 4

export interface SharedStartDeps {
  setTimer(ms: number, callback: () => void): CancelTimer
  monotonic(): number
}

/**
 * Returns a function that makes payments which arrive shortly after one another start at the same moment. These
 * payments then share the requests to Redis and the models, the writes to the spool, and the code and data in the
 * processor's caches. A payment that arrives alone starts at once.
 */
export function sharedStart({ setTimer, monotonic }: SharedStartDeps): () => Promise<void> {
  let startedAt = Number.NEGATIVE_INFINITY
  let next: PromiseWithResolvers<void> | undefined

  return function start() {
    if (next !== undefined) return next.promise
    const now = monotonic()
    const waitMs = startedAt + START_EVERY_MS - now
    if (waitMs <= 0) {
      startedAt = now
      return Promise.resolve()
    }
    const shared = Promise.withResolvers<void>()
    next = shared
    setTimer(waitMs, () => {
      next = undefined
      startedAt = monotonic()
      shared.resolve()
    })
    return shared.promise
  }
}
