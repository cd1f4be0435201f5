import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { windowedCounterStore } from '../../../state/stores/windowed-counter-store.ts'
import { openStore, PARTITION, storedRows, type TestBackend, testBackends } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'clicks'
const BUCKET_MS = 10
const BUCKETS = 5
/** Cache size with room for only a few objects. */
const CACHE_BYTES = 500
const keyArbitrary = fc.constantFrom('a', 'b', 'c', 'd')
/** Times within a period of several ring lengths, and one time far in the future. */
const timeArbitrary = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 150 }) }, { weight: 1, arbitrary: fc.constant(1e12) })

type Step =
  | { do: 'add'; key: string; time: number; by: number }
  | { do: 'count'; key: string; from: number; length: number }
  | { do: 'trim'; key: string; time: number }
  | { do: 'delete' | 'buckets'; key: string }
  | LifeStep

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      key: keyArbitrary,
      time: timeArbitrary,
      by: fc.integer({ min: 1, max: 1000 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('count' as const),
      key: keyArbitrary,
      from: timeArbitrary,
      length: fc.integer({ min: 0, max: 80 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('trim' as const), key: keyArbitrary, time: timeArbitrary }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'buckets' as const, 'buckets' as const), key: keyArbitrary }),
  },
  { weight: 3, arbitrary: lifeSteps },
)

/** For each key, the additions whose buckets are kept, as [bucket, by]. */
type Model = Map<string, [number, number][]>

function copy(model: Model): Model {
  return new Map([...model].map(([key, additions]) => [key, [...additions]]))
}

function bucketsOf(model: Model, key: string): [number, number][] {
  const sums = new Map<number, number>()
  for (const [bucket, by] of model.get(key) ?? []) sums.set(bucket * BUCKET_MS, (sums.get(bucket * BUCKET_MS) ?? 0) + by)
  return [...sums].sort(([a], [b]) => a - b)
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () =>
    openStore(windowedCounterStore(STORE, { key: utf8, bucketMs: BUCKET_MS, buckets: BUCKETS }), opened.backend, CACHE_BYTES)
  const both = modelled(opened, open, new Map() as Model, copy)

  function keepFrom(key: string, firstBucket: number): void {
    const kept = (both.current.get(key) ?? []).filter(([bucket]) => bucket >= firstBucket)
    if (kept.length > 0) both.current.set(key, kept)
    else both.current.delete(key)
  }

  for (const step of steps) {
    switch (step.do) {
      case 'add': {
        const bucket = Math.floor(step.time / BUCKET_MS)
        const additions = both.current.get(step.key) ?? []
        const newest = Math.max(...additions.map(([number]) => number))
        const late = bucket <= newest - BUCKETS
        expect(both.store.add(step.key, step.time, step.by)).toBe(!late)
        if (late) break
        both.current.set(step.key, [...additions, [bucket, step.by]])
        keepFrom(step.key, Math.max(newest, bucket) - BUCKETS + 1)
        break
      }
      case 'count': {
        const inside = bucketsOf(both.current, step.key).filter(([start]) => start >= step.from && start < step.from + step.length)
        expect(both.store.count(step.key, step.from, step.from + step.length)).toBe(inside.reduce((sum, [, count]) => sum + count, 0))
        break
      }
      case 'buckets':
        expect(both.store.buckets(step.key)).toEqual(bucketsOf(both.current, step.key))
        break
      case 'trim':
        both.store.trim(step.key, step.time)
        keepFrom(step.key, Math.ceil(step.time / BUCKET_MS))
        break
      case 'delete':
        both.store.delete(step.key)
        both.current.delete(step.key)
        break
      default:
        await both.live(step)
    }
    expect([...both.store.keys()]).toEqual([...both.current.keys()].sort())
  }
}

testAgainstModel('windowed counters agree with a list of additions', STORE, stepArbitrary, runAgainstModel)

test('a new or trimmed key does not reopen a window that the stream time has closed', async () => {
  const opened = await testBackends[0]()
  const time = { streamTime: -1 }
  const store = windowedCounterStore(STORE, { key: utf8, bucketMs: BUCKET_MS, buckets: BUCKETS })
  const codec = store.values.open(0, { get: () => undefined })
  store.open({ column: opened.session.column(STORE, PARTITION), codec, cacheBytes: CACHE_BYTES, time })
  expect(store.add('trimmed', 100)).toBe(true)
  store.trim('trimmed', 200)
  time.streamTime = 159
  for (const key of ['new', 'trimmed']) {
    expect(store.add(key, 100)).toBe(false)
    expect(store.buckets(key)).toEqual([])
    expect(store.add(key, 110)).toBe(true)
  }
})

test('only non-empty buckets take space', async () => {
  const opened = await testBackends[0]()
  const minuteMs = 60_000
  const store = openStore(windowedCounterStore(STORE, { key: utf8, bucketMs: minuteMs, buckets: 120 }), opened.backend)
  store.add('a', Date.UTC(2026, 0, 1, 12, 0))
  store.add('a', Date.UTC(2026, 0, 1, 13, 30))
  store.flush(undefined)
  opened.session.write()
  const [bytes] = storedRows(opened.backend, STORE).values()
  // Sizes in bytes: 5 for the header, 4 for the newest bucket, and 4 and 5 for the two arrays. Each array has a count,
  // items and an end.
  expect(bytes.length).toBeLessThanOrEqual(18)
})

test('counts can exceed 32 bits', async () => {
  const opened = await testBackends[0]()
  const store = openStore(windowedCounterStore(STORE, { key: utf8, bucketMs: 1, buckets: 1 }), opened.backend)
  store.add('a', 1, 2 ** 40)
  store.add('a', 1, 2 ** 40)
  expect(store.count('a', 0, 10)).toBe(2 ** 41)
})

test.each([
  ['a fractional amount', 1, 0.5],
  ['an amount that is not a number', 1, Number.NaN],
  ['an infinite amount', 1, Number.POSITIVE_INFINITY],
  ['a time that is not a number', Number.NaN, 1],
])('an addition with %s is refused and changes nothing', async (_what, time, by) => {
  const opened = await testBackends[0]()
  const store = openStore(windowedCounterStore(STORE, { key: utf8, bucketMs: BUCKET_MS, buckets: BUCKETS }), opened.backend)
  store.add('a', 1, 2)
  expect(() => store.add('a', time, by)).toThrow(RangeError)
  expect(store.buckets('a')).toEqual([[0, 2]])
})

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('a bucket of %d ms is refused', (bucketMs) => {
  expect(() => windowedCounterStore(STORE, { key: utf8, bucketMs, buckets: 3 })).toThrow('must be positive integers')
})

test.each([0, -1, 1.5, Number.NaN])('a ring of %d buckets is refused', (buckets) => {
  expect(() => windowedCounterStore(STORE, { key: utf8, bucketMs: BUCKET_MS, buckets })).toThrow('must be positive integers')
})
