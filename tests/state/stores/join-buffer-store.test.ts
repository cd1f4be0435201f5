import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { type Buffered, type JoinBufferStore, joinBufferStore, joinBufferWithRows } from '../../../state/stores/join-buffer-store.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { openStore, storedRows, type TestBackend, TOPOLOGY, testChangelog } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'waiting'
/** Room for a few objects. */
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

/** Sizes at which a row is full: with its first value, after a few values, and as in production. */
const fullRowBytes = [1, 12, 262_144]

function newStore(fullBytes: number): JoinBufferStore<string, string> {
  return joinBufferWithRows<string, string>(STORE, { key: utf8, value: 'string', spanMs: SPAN_MS }, fullBytes)
}

/** Groups the expired items into rows, in the order of segments and keys. */
function expiredRows(items: readonly Item[], time: number): Item[][] {
  const rows = new Map<string, Item[]>()
  for (const item of items) {
    if (segmentOf(item.time) >= segmentOf(time - SPAN_MS)) continue
    const name = `${String(segmentOf(item.time)).padStart(3, '0')}${item.key}`
    rows.set(name, [...(rows.get(name) ?? []), item])
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row.sort((a, b) => a.time - b.time))
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
        const due = expiredRows(both.current, step.time).slice(0, step.limit)
        const taken = both.store.takeExpired(step.time, step.limit)
        expect(taken).toEqual(due.map((row) => ({ key: row[0].key, values: row.map(({ time, value }) => ({ time, value })) })))
        const gone = new Set(due.flat())
        both.current = both.current.filter((item) => !gone.has(item))
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

const MIB = 1_048_576
const HOT_VALUES = 1_200
const HOT_VALUE = 'v'.repeat(10_000)
const SECOND = 1_000

function hotStore() {
  return joinBufferStore<string, string>(STORE, { key: utf8, value: 'string', spanMs: 60 * SECOND })
}

test('the values of a hot key are split into rows that a changelog accepts, and a commit writes only the last of them again', () => {
  const backend = memoryBackend()
  const store = openStore(hotStore(), backend)
  const changelog = testChangelog()
  const commit = () => {
    store.flush(changelog)
    changelog.commit()
    backend.session(TOPOLOGY).write()
    store.committed()
  }
  // The times are out of order and in one segment.
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

/** The row keys of an earlier version, which did not split rows: the segment and the key. */
const earlierRowKeys: Codec<{ segment: number; key: string }> = {
  encode({ segment, key }, out) {
    out.reserve(8)
    out.buffer.writeDoubleBE(segment, out.length)
    out.length += 8
    utf8.encode(key, out)
  },
  decode: (buffer, start, end) => ({ segment: buffer.readDoubleBE(start), key: utf8.decode(buffer, start + 8, end) }),
}

test('rows of an earlier version, which did not split rows, are found, and new values go to other rows', () => {
  const fields = [
    { name: 'time', type: 'long' },
    { name: 'value', type: 'string' },
  ]
  const rowSchema = { type: 'array', items: { type: 'record', name: 'Buffered', namespace: 'millrace.state', fields } }
  const backend = memoryBackend()
  const changelog = testChangelog()
  const old = openStore(
    keyedStore<{ segment: number; key: string }, Buffered<string>[]>(STORE, { key: earlierRowKeys, value: avroValue(rowSchema) }),
    backend,
  )
  const values = Array.from({ length: 300 }, (_, i) => ({ time: 30 * SECOND + i, value: HOT_VALUE }))
  old.put({ segment: 2, key: 'hot' }, values)
  old.put({ segment: 2, key: 'cold' }, values.slice(0, 1))
  old.flush(changelog)
  backend.session(TOPOLOGY).write()
  const before = storedRows(backend, STORE)

  const store = openStore(hotStore(), backend)
  expect(store.joinable('hot', 30 * SECOND)).toEqual(values)
  store.add('hot', 30 * SECOND, 'new')
  store.add('cold', 30 * SECOND, 'new')
  expect(store.joinable('hot', 30 * SECOND)).toEqual([values[0], { time: 30 * SECOND, value: 'new' }, ...values.slice(1)])
  expect(store.joinable('cold', 30 * SECOND)).toEqual([values[0], { time: 30 * SECOND, value: 'new' }])
  store.flush(changelog)
  backend.session(TOPOLOGY).write()
  const after = storedRows(backend, STORE)
  expect(after.size).toBe(3)
  const hotRow = rowKey(2, 'hot')
  expect(after.get(hotRow)).toBe(before.get(hotRow))
})

function rowKey(segment: number, key: string): string {
  const out = byteWriter()
  earlierRowKeys.encode({ segment, key }, out)
  return out.buffer.subarray(0, out.length).toString('latin1')
}

test('finds values with real timestamps that are a month apart', () => {
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

test('an invalid span is refused', () => {
  expect(() => joinBufferStore(STORE, { key: utf8, value: 'string', spanMs: 0 })).toThrow('spanMs must be positive')
})
