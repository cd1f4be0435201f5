import type { Context } from './options.ts'

/** First wait before a retry, for request loops that set no other wait. */
const FIRST_WAIT_MS = 2
/**
 * Longest wait before a retry, for request loops that set no other limit. Each of them then sends about two requests a
 * second to a failed broker. The client soon notices that the broker is back, and the requests cost little during the
 * outage.
 */
const LONGEST_WAIT_MS = 500

/**
 * First wait for the markers of a commit. The coordinator writes them a few milliseconds after the EndTxn response, and
 * until then responds with CONCURRENT_TRANSACTIONS.
 */
const MARKER_WAIT_MS = 1
export const LONGEST_MARKER_WAIT_MS = 20

/** Returns the back-off for requests that must wait for the markers of the previous transaction. */
export function markerBackoff(context: Pick<Context, 'runtime'>): Backoff {
  return backoff(context, MARKER_WAIT_MS, LONGEST_MARKER_WAIT_MS)
}

/**
 * The waits between the attempts of one request loop. Each wait is twice as long as the previous one, up to a limit,
 * with a jitter of ±10 %.
 */
export interface Backoff {
  /** Returns the next wait in milliseconds. */
  next(): number
  /** Waits for the time that `next` returns. Resolves early, without an error, when `signal` fires. */
  wait(signal?: AbortSignal): Promise<void>
  reset(): void
}

export function backoff({ runtime }: Pick<Context, 'runtime'>, firstWaitMs = FIRST_WAIT_MS, longestWaitMs = LONGEST_WAIT_MS): Backoff {
  let current = firstWaitMs
  function next(): number {
    const wait = current * (0.9 + 0.2 * runtime.random())
    current = Math.min(current * 2, longestWaitMs)
    return wait
  }
  async function wait(signal?: AbortSignal): Promise<void> {
    await runtime.sleep(next(), signal)
  }
  function reset(): void {
    current = firstWaitMs
  }
  return { next, wait, reset }
}
