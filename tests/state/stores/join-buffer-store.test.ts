import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { type Buffered, type JoinBufferStore, joinBufferStore } from '../../../state/stores/join-buffer-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { openStore, type TestBackend } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'waiting'
const CACHED_OBJECTS = 2
const SPAN_MS = 10
/** A quarter of the span, rounded up. */
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

function newStore(): JoinBufferStore<string, string> {
  return joinBufferStore<string, string>(STORE, { key: utf8, value: 'string', spanMs: SPAN_MS })
}

/** Expired rows, in the order of segments and keys. */
function expiredRows(items: readonly Item[], time: number): Item[][] {
  const rows = new Map<string, Item[]>()
  for (const item of items) {
    if (segmentOf(item.time) >= segmentOf(time - SPAN_MS)) continue
    const name = `${String(segmentOf(item.time)).padStart(3, '0')}${item.key}`
    rows.set(name, [...(rows.get(name) ?? []), item])
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row.sort((a, b) => a.time - b.time))
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () => openStore(newStore(), opened.backend, CACHED_OBJECTS)
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

testAgainstModel('a join buffer finds the same as a list, through commits, aborts and restarts', STORE, stepArbitrary, runAgainstModel)

test('works with real times a month apart', () => {
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
