import type { CancelTimer } from '../../runtime/runtime.ts'

/**
 * Minimum time between two starts. Requests that arrive within this time after a start wait for the next start. At
 * 1,000 requests/s, four requests start together.
 */
const START_EVERY_MS = 4

export interface SharedStartDeps {
  setTimer(ms: number, callback: () => void): CancelTimer
  monotonic(): number
}

/**
 * Returns a function that each request must await before it starts. Requests that arrive shortly after one another
 * start at the same moment. They then share their calls to Redis, Kafka and other processes, their writes to files, and
 * the code and data in the processor's caches. A request that arrives alone starts at once.
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
