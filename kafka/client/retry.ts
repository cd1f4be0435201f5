import { setTimeout as delay } from 'node:timers/promises'
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

export function backoff({ random }: Pick<Context, 'random'>, firstWaitMs = FIRST_WAIT_MS, longestWaitMs = LONGEST_WAIT_MS): Backoff {
  let current = firstWaitMs
  function next(): number {
    const wait = current * (0.9 + 0.2 * random())
    current = Math.min(current * 2, longestWaitMs)
    return wait
  }
  async function wait(signal?: AbortSignal): Promise<void> {
    await pause(next(), signal)
  }
  function reset(): void {
    current = firstWaitMs
  }
  return { next, wait, reset }
}

/** Sleeps; resolves early when `signal` fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal })
  } catch {
    // Woken early: the caller looks at its own state next.
  }
}
