import type { CancelTimer } from '../../runtime/runtime.ts'

/**
 * Minimum time between two starts. Requests that arrive in between wait for the next start, at most this long. At 1,000
 * requests a second, four start together.
 */
const START_EVERY_MS = 4

export interface SharedStartDeps {
  setTimer(ms: number, callback: () => void): CancelTimer
  monotonic(): number
}

/**
 * Returns a function that makes requests which arrive shortly after one another start at the same moment. They then
 * also share all that follows: calls to Redis, Kafka and other processes, writes to files, and code and data that are
 * in the processor's caches. A request that arrives alone starts at once.
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
