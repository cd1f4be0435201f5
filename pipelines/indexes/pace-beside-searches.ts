import type { Runtime } from '../../runtime/runtime.ts'
import type { WritePace } from '../../state/indexes/writer.ts'

/** Maximum pause after a bulk, so that a single slow bulk does not stop the work for long. */
const MAX_PAUSE_MS = 2_000

/**
 * Returns the pace at which an index is filled while searches use another one. Bulks are small, and a pause as long as
 * the bulk itself follows each one, so that searches wait only briefly and get most of the server's CPU time.
 * @param signal ends a pause early
 */
export function paceBesideSearches({ monotonic, sleep }: Pick<Runtime, 'monotonic' | 'sleep'>, signal: AbortSignal): WritePace {
  return {
    bulksInFlight: 1,
    documentsPerBulk: 250,
    async inTurn(send) {
      const startedAt = monotonic()
      try {
        return await send()
      } finally {
        await sleep(Math.min(monotonic() - startedAt, MAX_PAUSE_MS), signal)
      }
    },
  }
}
