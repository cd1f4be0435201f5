import type { CancelTimer } from '../../../runtime/runtime.ts'

/**
 * Minimum time between two starts. Payments that arrive in between wait for the next start, at most this long. At 1,000
 * payments a second, four start together.
 */
const START_EVERY_MS = 4

export interface SharedStartDeps {
  setTimer(ms: number, callback: () => void): CancelTimer
  monotonic(): number
}

/**
 * Returns a function that makes payments which arrive shortly after one another start at the same moment. They then
 * also share all that follows: the requests to Redis and the models, the writes of the spool, and code and data that
 * are in the processor's caches. A payment that arrives alone starts at once.
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
