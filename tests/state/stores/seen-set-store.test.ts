import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { type SeenSetStore, seenSetStore } from '../../../state/stores/seen-set-store.ts'
import { openStore, type TestBackend, testChangelog } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'seen'
const CACHED_OBJECTS = 2
/** An error rate without false positives in these tests, so that a plain set can be the model. */
const EXACT = 1e-9

type Step = { do: 'add' | 'has'; key: string; item: number } | { do: 'delete'; key: string } | LifeStep

const keyArbitrary = fc.constantFrom('ann', 'bob', 'cid')
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('add' as const, 'add' as const, 'has' as const),
      key: keyArbitrary,
      item: fc.integer({ min: 0, max: 40 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), key: keyArbitrary }) },
  { weight: 3, arbitrary: lifeSteps },
)

function newStore(capacity = 1_000, errorRate = EXACT): SeenSetStore<string, string> {
  return seenSetStore(STORE, { key: utf8, item: utf8, capacity, errorRate })
}

type Model = Map<string, Set<number>>

function copy(model: Model): Model {
  return new Map([...model].map(([key, items]) => [key, new Set(items)]))
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () => openStore(newStore(), opened.backend, CACHED_OBJECTS)
  const both = modelled(opened, open, new Map() as Model, copy)
  for (const step of steps) {
    switch (step.do) {
      case 'add': {
        const items = both.current.get(step.key) ?? new Set()
        expect(both.store.add(step.key, `${step.item}`)).toBe(!items.has(step.item))
        both.current.set(step.key, items.add(step.item))
        expect(both.store.size(step.key)).toBe(items.size)
        break
      }
      case 'has':
        both.store.prefetch(step.key)
        both.store.loadPrefetched()
        expect(both.store.has(step.key, `${step.item}`)).toBe(both.current.get(step.key)?.has(step.item) ?? false)
        break
      case 'delete':
        both.store.delete(step.key)
        both.current.delete(step.key)
        break
      default:
        await both.live(step)
    }
  }
}

testAgainstModel('a seen-set answers like a set, through commits, aborts and restarts', STORE, stepArbitrary, runAgainstModel)

describe('a full set', () => {
  const CAPACITY = 5_000
  const ERROR_RATE = 0.01
  const ADDED = 3 * CAPACITY

  function filled(): { store: SeenSetStore<string, string>; remembered: string[] } {
    const store = openStore(newStore(CAPACITY, ERROR_RATE), memoryBackend())
    const items = Array.from({ length: ADDED }, (_, i) => `item-${i}`)
    return { store, remembered: items.filter((item) => store.add('ann', item)) }
  }

  test('remembers as many of the newest items as its capacity, and forgets the oldest', () => {
    const { store, remembered } = filled()
    expect(remembered.length).toBeGreaterThan(ADDED * (1 - ERROR_RATE))
    for (const item of remembered.slice(-CAPACITY)) expect(store.has('ann', item)).toBe(true)
    expect(store.size('ann')).toBeLessThan(CAPACITY * 1.5)
    const forgotten = remembered.slice(0, CAPACITY)
    expect(forgotten.filter((item) => store.has('ann', item)).length / CAPACITY).toBeLessThan(2 * ERROR_RATE)
  })

  test('has no more false positives than its error rate', () => {
    const { store } = filled()
    const asked = 50_000
    let wrong = 0
    for (let i = 0; i < asked; i++) if (store.has('ann', `other-${i}`)) wrong++
    expect(wrong / asked).toBeLessThan(ERROR_RATE)
    expect(wrong).toBeGreaterThan(0)
  })

  test('takes memory in proportion to its number of items', () => {
    const { store } = filled()
    const backend = memoryBackend()
    const sized = openStore(newStore(CAPACITY, ERROR_RATE), backend)
    sized.add('ann', 'one')
    const changelog = testChangelog()
    sized.flush(changelog)
    changelog.commit()
    const [small] = changelog.rows.values()
    expect(small.length).toBeLessThan(150)
    const full = testChangelog()
    store.flush(full)
    full.commit()
    const [row] = full.rows.values()
    // At most a quarter more items than the capacity, with 13 to 15 bits each.
    expect(row.length).toBeLessThan((CAPACITY * 1.25 * 15) / 8 + 200)
  })
})

test.each([
  [{ capacity: 0 }, 'capacity must be a positive integer'],
  [{ capacity: 1.5 }, 'capacity must be a positive integer'],
  [{ errorRate: 0 }, 'errorRate must be between 0 and 1'],
  [{ errorRate: 1 }, 'errorRate must be between 0 and 1'],
])('%o is refused', (wrong, message) => {
  expect(() => seenSetStore(STORE, { key: utf8, item: utf8, capacity: 10, errorRate: 0.01, ...wrong })).toThrow(message)
})

test.each([1, 2, 63, 65, 300])('a set with capacity %i remembers at least that many items', (capacity) => {
  const store = openStore(newStore(capacity), memoryBackend())
  for (let i = 0; i < 5 * Math.max(64, capacity); i++) {
    store.add('ann', `item-${i}`)
    expect(store.has('ann', `item-${Math.max(0, i - capacity + 1)}`)).toBe(true)
  }
  expect(store.size('ann')).toBeLessThan(capacity + 2 * 64 + capacity / 2)
})

test('reports its number of items to readers', () => {
  const store = openStore(newStore(), memoryBackend())
  store.add('ann', 'x')
  store.add('ann', 'x')
  store.add('ann', 'y')
  const changelog = testChangelog()
  store.flush(changelog)
  changelog.commit()
  const [row] = changelog.rows.values()
  const stored = store.values.open(0, { get: () => undefined }).decode(Buffer.from(row, 'latin1'), 0, row.length)
  expect(store.lookup.view(stored)).toEqual({ items: 2 })
})
