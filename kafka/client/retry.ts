import type { Context } from './options.ts'

/** First wait: coordinators finish a commit's markers within a few milliseconds. */
const FIRST_WAIT_MS = 2
/** A failed broker is asked about twice a second: quick enough after its return, cheap while it is away. */
const LONGEST_WAIT_MS = 500

/** Waits that double, with up to 20 % spread. One per request loop. */
export interface Backoff {
  /** Milliseconds of the next wait. */
  next(): number
  /** Waits; resolves early and quietly when `signal` fires. */
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
