import type { CancelTimer } from '../../runtime/runtime.ts'
import { TransportError } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import type { FetchPosition } from './fetch-positions.ts'
import type { Context } from './options.ts'

const FIRST_RETRY_MS = 20
const LONGEST_RETRY_MS = 1_000

export interface FetchRetryHooks {
  schedule(): void
  failed(error: Error): void
}

/** Schedules retries of positions whose fetch failed. The metadata is refreshed before each retry. */
export type FetchRetry = ReturnType<typeof openFetchRetry>

export function openFetchRetry(context: Context, cluster: Cluster, positions: ReadonlyMap<string, FetchPosition>, hooks: FetchRetryHooks) {
  const { runtime } = context
  let cancelRetry: CancelTimer | undefined
  /** Monotonic time (ms) of the next refresh. -Infinity while a refresh is running, and Infinity if none is planned. */
  let refreshAt = Number.POSITIVE_INFINITY
  let closed = false

  /** Delays the next fetch of a position. The delay doubles with each failure, up to a second. */
  function postpone(state: FetchPosition): void {
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(state.attempts++, 10), LONGEST_RETRY_MS)
    state.retryAt = runtime.monotonic() + wait * (0.9 + 0.2 * runtime.random())
  }

  /**
   * Schedules a metadata refresh, after which the waiting positions are fetched. Replaces a refresh that is planned for
   * a later time, because the position that causes this call must not wait for the other positions.
   */
  function refreshSoon(afterMs = FIRST_RETRY_MS): void {
    const at = runtime.monotonic() + afterMs
    if (at >= refreshAt || closed) return
    cancelRetry?.()
    refreshAt = at
    cancelRetry = runtime.setTimer(afterMs, async () => {
      refreshAt = Number.NEGATIVE_INFINITY
      const topics = [...new Set([...positions.values()].map(({ topic }) => topic))]
      try {
        await cluster.refresh(topics)
      } catch (error) {
        if (error instanceof TransportError && error.fatal) {
          hooks.failed(error)
        }
      }
      refreshAt = Number.POSITIVE_INFINITY
      for (const state of positions.values()) if (state.attempts <= 1 && state.retryAt !== Number.POSITIVE_INFINITY) state.retryAt = 0
      // The clock is read before `schedule` reads it. Otherwise, a position that becomes due between the two readings
      // would be neither fetched nor waited for.
      const now = runtime.monotonic()
      hooks.schedule()
      wakeAt(nextRetryAfter(now))
    })
  }

  function nextRetryAfter(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { retryAt, failed } of positions.values()) if (!failed && retryAt > now && retryAt < next) next = retryAt
    return next
  }

  function wakeAt(time: number): void {
    if (time === Number.POSITIVE_INFINITY) return
    refreshSoon(Math.max(time - runtime.monotonic(), 1))
  }

  function close(): void {
    closed = true
    cancelRetry?.()
  }

  return { postpone, refreshSoon, wakeAt, close }
}
