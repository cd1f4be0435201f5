import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'

export interface FreshnessOptions {
  readonly client: Client
  readonly create: () => Promise<string>
  readonly from: () => Record<string, string>
  readonly seconds: number
}

const PROBE_EVERY_MS = 500
const ASK_EVERY_MS = 200
/** Target for the time until a read is counted (docs/services/snippets.md#targets). */
const TARGET_MS = 60_000

/**
 * Creates a snippet every half second for `seconds`. Reads each snippet repeatedly until its view count is no longer 0
 * or twice the target has passed. Returns the time from the creation of each snippet to its last read, in ms and in
 * ascending order.
 */
export async function viewsFreshness({ client, create, from, seconds }: FreshnessOptions): Promise<number[]> {
  async function probe(): Promise<number> {
    const id = await create()
    const startedAt = performance.now()
    for (;;) {
      const { head } = await client.get(`/api/v1/pastes/${id}`, from())
      const ms = performance.now() - startedAt
      if ((JSON.parse(head) as { view_count: number }).view_count > 0 || ms > 2 * TARGET_MS) return ms
      await delay(ASK_EVERY_MS)
    }
  }

  const probes: Promise<number>[] = []
  for (let sent = 0; sent < (seconds * 1_000) / PROBE_EVERY_MS; sent++) {
    probes.push(probe())
    await delay(PROBE_EVERY_MS)
  }
  return (await Promise.all(probes)).sort((one, other) => one - other)
}
