import { expect, test } from 'vitest'
import { avro, type KeyedStore, packedStore, utf8 } from '../../../pipelines/engine/index.ts'
import { learn, newBaseline } from '../../../pipelines/trends/baseline.ts'
import { learnedBaselines } from '../../../pipelines/trends/learned-baselines.ts'
import { savedStandings } from '../../../pipelines/trends/saved-standings.ts'
import { standings } from '../../../pipelines/trends/standings.ts'
import { newTermState } from '../../../pipelines/trends/term-state.ts'
import type { SavedStandings, TermBaseline, TermState } from '../../../schemas/trends/types.ts'
import { oneBucket } from '../../../state/stores/buckets.ts'
import type { StateColumn } from '../../../state/stores/store.ts'
import { TOPOLOGY, testBackends } from '../../state/stores/harness.ts'

const HOUR = 500_000
const MINUTE = HOUR * 60
const WEEK = 168
const TERMS = 2_000
/** Size of the cache of baselines in a worker. */
const CACHE_BYTES = 1_048_576

test('even after a stop, the bounds of terms are renewed with at most one read per hundred terms, although the cache has no room for all baselines', async () => {
  const { backend, session } = await testBackends[0]()
  const baselines = packedStore<string, TermBaseline>('usual', { key: utf8, value: avro('trends/TermBaseline'), cacheBytes: CACHE_BYTES })
  const column = backend.session(TOPOLOGY).column('usual', 0)
  let reads = 0
  const counting: StateColumn = {
    ...column,
    multiGet(keys) {
      reads++
      return column.multiGet(keys)
    },
  }
  baselines.open({ column: counting, codec: baselines.values.open(0, { get: () => undefined }), cacheBytes: CACHE_BYTES })
  const keys = Array.from({ length: TERMS }, (_, i) => `1:term ${i}`)
  const baseline = newBaseline(HOUR - WEEK)
  for (let hour = HOUR - WEEK; hour < HOUR - 3; hour++) learn(baseline, hour, 5)
  for (const key of keys) baselines.put(key, baseline)
  baselines.flush(undefined)
  session.write()
  baselines.committed()

  const { usualOf, prefetchUsual } = learnedBaselines({ frequent: { put() {} }, baselines })
  const noRows = { get: () => undefined, put() {}, scan: () => [] } as unknown as KeyedStore<string, SavedStandings>
  let stored: [woeid: number, term: string, state: TermState, key: string][] = []
  const leaders = standings({
    terms: { statesOf: () => [], found: () => [], rare: () => [], frequent: () => stored },
    usualOf,
    prefetchUsual,
    perRegion: TERMS,
    drawnPerRegion: TERMS,
    saved: savedStandings(noRows),
  })
  for (const _ of leaders.prepare(MINUTE, () => {}));
  const learned = { tracked_hour: HOUR - WEEK, learned_hour: HOUR - 3 }
  const state: TermState = { ...newTermState(), minutes: oneBucket(MINUTE, 5), hours: oneBucket(HOUR, 5), ...learned }
  reads = 0
  leaders.offerAgain(
    keys.map((key): [string, TermState] => [key, state]),
    undefined,
  )
  expect(leaders.contenders).toBe(TERMS)
  expect(reads).toBeLessThan(TERMS / 100)

  // After a stop of two hours, all terms are offered again.
  const later = MINUTE + 2 * 60
  stored = keys.map((key, i) => [1, `term ${i}`, { ...state, minutes: oneBucket(later, 5) }, key])
  reads = 0
  for (const _ of leaders.prepare(later, () => {}));
  expect(leaders.contenders).toBe(TERMS)
  expect(reads).toBeLessThan(TERMS / 100)
})
