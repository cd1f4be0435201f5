import { setTimeout as delay } from 'node:timers/promises'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { inflict, type SearchFaultKind } from './faults.ts'
import { startReader } from './readers.ts'
import type { SearchSystem } from './system.ts'
import { differences } from './verdict.ts'
import { openWriter } from './writer.ts'

const SHORTEST_HOLD_MS = 300
const MORE_HOLD_MS = 1_500
const GAP_MS = 1_500
const RECOVERY_MS = 120_000
const LOOK_EVERY_MS = 500

export interface RoundResult {
  readonly faults: readonly string[]
  readonly summary: string
}

/**
 * Applies the faults one after another, each shortly after a request for a rebuild, while products change and a reader
 * searches.
 */
export async function playRound(
  system: SearchSystem,
  seed: number,
  kinds: readonly SearchFaultKind[],
  say: (text: string) => void,
): Promise<RoundResult> {
  const random = seededRandom(seed)
  const writer = await openWriter(system, random)
  await writer.begin()
  await system.untilReady()
  const reader = startReader(system.client)
  try {
    for (const kind of kinds) {
      await writer.requestRebuild()
      await delay(integer(random, GAP_MS))
      const startedAt = Date.now()
      await inflict(system, kind, SHORTEST_HOLD_MS + integer(random, MORE_HOLD_MS))
      say(`${kind} took ${Date.now() - startedAt} ms; ${JSON.stringify({ ...reader.readings, faults: reader.readings.faults.length })}`)
      await delay(integer(random, GAP_MS))
    }
    // The broker must answer before the last records are written.
    await system.untilReady()
    await writer.requestRebuild()
    await writer.stop()
    const left = await untilEqual(() => differences(system, writer.requested))
    await reader.stop()
    const { whole, notComplete, unavailable, faults } = reader.readings
    const summary = `${writer.requested.length} rebuilds; answers: ${whole} whole, ${notComplete} not complete, ${unavailable} unavailable`
    if (whole === 0) return { faults: ['no search was answered'], summary }
    return { faults: [...new Set([...faults, ...left])], summary }
  } finally {
    await writer.stop()
    await reader.stop()
    await writer.close()
  }
}

async function untilEqual(look: () => Promise<string[]>): Promise<string[]> {
  const deadline = Date.now() + RECOVERY_MS
  for (;;) {
    const left = await look().catch((error: Error) => [error.message])
    if (left.length === 0 || Date.now() > deadline) return left
    await delay(LOOK_EVERY_MS)
  }
}
