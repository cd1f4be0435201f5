import { isHealthy, reportedParts } from './health.ts'
import type { RunPart } from './run-file.ts'
import { waitUntil } from './wait.ts'

/** Interval between checks. A report on readiness may be up to a second old, so shorter intervals gain little. */
const POLL_INTERVAL_MS = 500

export interface UnreadyOptions {
  /** How long to wait until all parts are ready. With 0, each part is checked once. */
  readonly timeoutMs: number
  /** Returns true if the caller no longer needs the result. The wait then ends before the next check. */
  isOver(): boolean
}

/**
 * Waits until all workers and APIs are ready, because a process that has started may still be building its views or
 * restoring its state. The servers are ready as soon as they have started.
 * @returns a line for each part that is still not ready, with the reasons; empty if the caller no longer needs the
 * result
 */
export async function unreadyParts(parts: readonly RunPart[], { timeoutMs, isOver }: UnreadyOptions): Promise<string[]> {
  let waiting = parts.filter(({ kind }) => kind === 'worker' || kind === 'api')
  async function areReady(): Promise<boolean> {
    const ready = await Promise.all(waiting.map(({ kind, address }) => isHealthy(kind, address)))
    waiting = waiting.filter((_, index) => !ready[index])
    return waiting.length === 0
  }
  const givenUp = () => (isOver() ? 'the wait was ended' : undefined)
  await waitUntil(areReady, { what: 'the parts', timeoutMs, intervalMs: POLL_INTERVAL_MS, givenUp }).catch(() => undefined)
  if (isOver()) return []
  return await Promise.all(
    waiting.map(
      async ({ name, address, operations }) => `  ${name} is not ready yet${await reportedParts(operations ?? address, 'missing')}`,
    ),
  )
}
