import { expect, test } from 'vitest'
import type { Context } from '../../../pipelines/engine/index.ts'
import { type SilentTermsOptions, silentTerms } from '../../../pipelines/trends/silent-terms.ts'
import { TERMS_PER_PAUSE } from '../../../pipelines/trends/stored-terms.ts'
import { newTermState } from '../../../pipelines/trends/term-state.ts'
import type { TermState } from '../../../schemas/trends/types.ts'

const HOUR = 500_000
const TERMS = 3 * TERMS_PER_PAUSE

/** Creates a store that records which of its keys a scan visits and which keys are deleted. */
function countedStore(size: number) {
  const keys = Array.from({ length: size }, (_, i) => `1:${String(i).padStart(6, '0')}`)
  const visited: string[] = []
  const deleted: string[] = []
  function* scan({ gte = '', limit = size }: { gte?: string; limit?: number }): Generator<[string, TermState]> {
    for (const key of keys.filter((each) => each >= gte).slice(0, limit)) {
      visited.push(key)
      yield [key, newTermState()]
    }
  }
  return { store: { scan, delete: (key: string) => void deleted.push(key), findKey: () => undefined }, keys, visited, deleted }
}

test('a sweep pauses between its steps, and still deletes all silent terms within one renewal', () => {
  const [rare, frequent, baselines] = [countedStore(0), countedStore(TERMS), countedStore(0)]
  const parts = {
    rare: rare.store,
    frequent: frequent.store,
    baselines: baselines.store,
    learned: { learnHours: () => undefined },
    rounds: { catchUp: () => undefined, caughtUp: () => undefined },
    filter: { walkCompleted: () => undefined },
    frequentCounts: { publishTo: () => () => undefined },
  } as unknown as SilentTermsOptions
  const sweeps = silentTerms(parts)
  let [pauses, most, before] = [0, 0, 0]
  for (const _ of sweeps.run(HOUR, { offerAgain: () => undefined }, {} as Context)) {
    pauses++
    most = Math.max(most, frequent.visited.length - before)
    before = frequent.visited.length
  }
  // Each step reads one key ahead, to find out where the next step begins.
  expect(most).toBe(TERMS_PER_PAUSE + 1)
  expect(pauses).toBeGreaterThan(TERMS / TERMS_PER_PAUSE)
  expect(frequent.deleted).toEqual(frequent.keys)
})
