import type { Runtime } from './runtime.ts'

/**
 * Waits for work, but no longer than `ms`. Rejects if the work rejects in this time.
 * @returns whether the work has ended
 */
export async function endsWithin({ sleep }: Pick<Runtime, 'sleep'>, ms: number, work: Promise<unknown>): Promise<boolean> {
  const patience = new AbortController()
  try {
    return await Promise.race([work.then(() => true), sleep(ms, patience.signal).then(() => false)])
  } finally {
    patience.abort()
  }
}
