import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { type Buffered, type JoinBufferStore, joinBufferStore, joinBufferWithRows } from '../../../state/stores/join-buffer-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { openStore, storedRows, type TestBackend, TOPOLOGY, testBackends, testChangelog } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'waiting'
/** Cache size with room for only a few objects. */
const CACHE_BYTES = 500
const SPAN_MS = 10
/** Length of a segment: a quarter of the span, rounded up. */
const SEGMENT_MS = 3

type Step =
  | { do: 'add'; key: string; time: number; value: string }
  | { do: 'within'; key: string; time: number }
  | { do: 'expire'; time: number; limit: number }
  | LifeStep

const keyArbitrary = fc.constantFrom('a', 'b', '')
const timeArbitrary = fc.integer({ min: 0, max: 60 })
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('add' as const), key: keyArbitrary, time: timeArbitrary, value: fc.string({ maxLength: 2 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('within' as const), key: keyArbitrary, time: timeArbitrary }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('expire' as const), time: timeArbitrary, limit: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: lifeSteps },
)

interface Item extends Buffered<string> {
  readonly key: string
}

const segmentOf = (time: number) => Math.max(0, Math.floor(time / SEGMENT_MS))

/** Sizes of a full row in bytes: room for one value, room for a few values, and the size in production. */
const fullRowBytes = [1, 12, 262_144]

function newStore(fullBytes: number): JoinBufferStore<string, string> {
  return joinBufferWithRows<string, string>(STORE, { key: utf8, value: 'string', spanMs: SPAN_MS }, fullBytes)
}

/** Groups expired items by segment and key. */
function expiredRows(items: readonly Item[], time: number): Map<string, Item[]> {
  const rows = new Map<string, Item[]>()
  for (const item of items) {
    if (segmentOf(item.time) >= segmentOf(time - SPAN_MS)) continue
    const name = `${segmentOf(item.time)} ${item.key}`
    rows.set(name, [...(rows.get(name) ?? []), item])
  }
  for (const row of rows.values()) row.sort((a, b) => a.time - b.time)
  return rows
}

async function runAgainstModel(opened: TestBackend, fullBytes: number, steps: readonly Step[]): Promise<void> {
  const open = () => openStore(newStore(fullBytes), opened.backend, CACHE_BYTES)
  const both = modelled(opened, open, [] as Item[], (items) => [...items])
  for (const step of steps) {
    switch (step.do) {
      case 'add':
        both.store.add(step.key, step.time, step.value)
        both.current.push({ key: step.key, time: step.time, value: step.value })
        break
      case 'within': {
        both.store.prefetch(step.key, step.time)
        both.store.loadPrefetched()
        const expected = both.current
          .filter(({ key, time }) => key === step.key && Math.abs(time - step.time) <= SPAN_MS)
          .sort((a, b) => a.time - b.time)
          .map(({ time, value }) => ({ time, value }))
        expect(both.store.joinable(step.key, step.time)).toEqual(expected)
        break
      }
      case 'expire': {
        const due = expiredRows(both.current, step.time)
        const segments = [...due.values()].map(([{ time }]) => segmentOf(time)).sort((a, b) => a - b)
        const taken = both.store.takeExpired(step.time, step.limit)
        expect(taken.map(({ values: [{ time }] }) => segmentOf(time))).toEqual(segments.slice(0, step.limit))
        for (const { key, values } of taken) {
          const row = due.get(`${segmentOf(values[0].time)} ${key}`) as Item[]
          expect(values).toEqual(row.map(({ time, value }) => ({ time, value })))
          both.current = both.current.filter((item) => !row.includes(item))
        }
        break
      }
      default:
        await both.live(step)
    }
  }
}

describe.each(fullRowBytes)('with rows of %d bytes', (fullBytes) => {
  testAgainstModel(
    'a join buffer finds the same values as a list, across commits, aborts and restarts',
    STORE,
    stepArbitrary,
    (opened, steps: readonly Step[]) => runAgainstModel(opened, fullBytes, steps),
  )
})

test('values that remain after an expiry are kept, even if they need more rows than before', async () => {
  const opened = await testBackends[0]()
  const store = openStore(newStore(12), opened.backend, CACHE_BYTES)
  // The kept values are added in descending order of time, so the long value comes last and completes the first row
  // together with the other values. After the expiry, the store writes the values in chronological order. The long
  // value then fills a whole row, and the other values need a second row.
  const kept = [
    { time: 45, value: 'a value that fills a row' },
    { time: 46, value: 'b' },
    { time: 47, value: 'c' },
  ]
  for (const { time, value } of [{ time: 1, value: 'old' }, ...kept.toReversed()]) store.add('a', time, value)
  expect(store.takeExpired(45, 10).map(({ values }) => values)).toEqual([[{ time: 1, value: 'old' }]])
  expect(store.joinable('a', 46)).toEqual(kept)
  await opened.remove()
})

const MIB = 1_048_576
const HOT_VALUES = 1_200
const HOT_VALUE = 'v'.repeat(10_000)
const SECOND = 1_000

function hotStore() {
  return joinBufferStore<string, string>(STORE, { key: utf8, value: 'string', spanMs: 60 * SECOND })
}

test('the values of a hot key are split into rows that fit into the changelog, and a commit rewrites only the last row', () => {
  const backend = memoryBackend()
  const store = openStore(hotStore(), backend)
  const changelog = testChangelog()
  const commit = () => {
    store.flush(changelog)
    changelog.commit()
    backend.session(TOPOLOGY).write()
    store.committed()
  }
  // The times are not in order, but all in the same segment.
  const times = Array.from({ length: HOT_VALUES }, (_, i) => 30 * SECOND + ((i * 7) % HOT_VALUES))
  times.forEach((time, i) => {
    store.add('hot', time, `${i} ${HOT_VALUE}`)
    if (i % 200 === 0) commit()
  })
  commit()
  const rows = [...storedRows(backend, STORE).values()].map((row) => row.length)
  expect(rows.length).toBeGreaterThan(40)
  expect(Math.max(...rows)).toBeLessThan(MIB / 2)
  store.add('hot', 30 * SECOND, 'one more')
  store.flush(changelog)
  expect(changelog.appended).toBe(1)
  changelog.commit()
  backend.session(TOPOLOGY).write()

  const reopened = openStore(hotStore(), backend)
  const found = reopened.joinable('hot', 40 * SECOND)
  const expected = [...times.entries()].sort(([, a], [, b]) => a - b).map(([i, time]) => `${time} ${i} `)
  expected.splice(1, 0, `${30 * SECOND} one more`)
  expect(found.map(({ time, value }) => `${time} ${value.replace(HOT_VALUE, '')}`)).toEqual(expected)
  expect(reopened.takeExpired(600 * SECOND, 10).map(({ key, values }) => [key, values.length])).toEqual([['hot', HOT_VALUES + 1]])
  expect(reopened.takeExpired(600 * SECOND, 10)).toEqual([])
})

test('a commit writes one row per key, and one more row for all keys that are new in a segment', () => {
  const backend = memoryBackend()
  const store = openStore(hotStore(), backend)
  const changelog = testChangelog()
  const commit = (time: number, keys: number) => {
    for (let key = 0; key < keys; key++) store.add(`key ${key}`, time, 'v')
    store.flush(changelog)
    const { appended } = changelog
    changelog.commit()
    backend.session(TOPOLOGY).write()
    store.committed()
    return appended
  }
  expect(commit(30 * SECOND, 100)).toBe(101)
  // Each of these keys already has a value in the segment, so a row that lists new keys is not needed.
  expect(commit(31 * SECOND, 100)).toBe(100)
  expect(commit(31 * SECOND, 101)).toBe(102)
  // This time is in the next segment.
  expect(commit(45 * SECOND, 100)).toBe(101)
  expect(storedRows(backend, STORE).size).toBe(101 + 3)

  const reopened = openStore(hotStore(), backend)
  expect(reopened.takeExpired(105 * SECOND, 1_000)).toHaveLength(101)
  expect(reopened.joinable('key 7', 31 * SECOND).map(({ time }) => time)).toEqual([45 * SECOND])
  expect(reopened.takeExpired(300 * SECOND, 1_000)).toHaveLength(100)
  reopened.flush(changelog)
  changelog.commit()
  backend.session(TOPOLOGY).write()
  expect(storedRows(backend, STORE).size).toBe(0)
})

test('values with real timestamps that are a month apart are found', () => {
  const DAY_MS = 86_400_000
  const now = Date.UTC(2026, 0, 31)
  const store = openStore(joinBufferStore<string, string>(STORE, { key: utf8, value: 'string', spanMs: 30 * DAY_MS }), memoryBackend())
  store.add('pair', now - 31 * DAY_MS, 'too old')
  store.add('pair', now - 30 * DAY_MS, 'just in time')
  store.add('pair', now + 30 * DAY_MS, 'from the other end')
  expect(store.joinable('pair', now).map(({ value }) => value)).toEqual(['just in time', 'from the other end'])
  expect(store.takeExpired(now + 8 * DAY_MS, 10).flatMap(({ values }) => values.map(({ value }) => value))).toEqual([
    'too old',
    'just in time',
  ])
})

// With an infinite span, the store would treat every value as expired immediately.
test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a span of %d ms is refused', (spanMs) => {
  expect(() => joinBufferStore(STORE, { key: utf8, value: 'string', spanMs })).toThrow('spanMs must be positive and finite')
})
