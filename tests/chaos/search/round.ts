import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
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
 * searches. At the end, compares the index with the log.
 */
export async function playRound(
  system: SearchSystem,
  seed: number,
  kinds: readonly SearchFaultKind[],
  say: (text: string) => void,
): Promise<RoundResult> {
  const random = seededRandom(seed)
  const writer = await openWriter(system, random)
  writer.begin()
  await system.untilReady()
  const reader = startReader(system.client)
  // The reader judges only complete answers, so this function waits for one. The round waits only once between the
  // faults, so that most faults may hit an index that has not recovered from the previous fault.
  const untilWhole = (when: string) => {
    const { whole } = reader.readings
    const limits = { what: `a complete answer ${when}`, timeoutMs: RECOVERY_MS }
    return waitUntil(() => reader.readings.whole > whole, limits).catch((error: Error) => void reader.readings.faults.push(error.message))
  }
  try {
    await untilWhole('before the faults')
    for (const [index, kind] of kinds.entries()) {
      if (index === kinds.length >> 1) await untilWhole('between the faults')
      await writer.requestRebuild()
      await delay(integer(random, GAP_MS))
      const startedAt = Date.now()
      await inflict(system, kind, SHORTEST_HOLD_MS + integer(random, MORE_HOLD_MS))
      say(`${kind} took ${Date.now() - startedAt} ms; ${JSON.stringify({ ...reader.readings, faults: reader.readings.faults.length })}`)
      await delay(integer(random, GAP_MS))
    }
    // Waits for the workers, and so for the broker that they need, before the last records are written.
    await system.untilReady()
    await writer.requestRebuild()
    await writer.stop()
    const left = await untilEqual(() => differences(system, writer.requested))
    if (left.length === 0) await untilWhole('after the faults')
    await reader.stop()
    const { whole, notComplete, unavailable, faults } = reader.readings
    const summary = `${writer.requested.length} rebuilds; answers: ${whole} complete, ${notComplete} incomplete, ${unavailable} unavailable`
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
