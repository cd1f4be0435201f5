import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { type SeenSetStore, seenSetStore } from '../../../state/stores/seen-set-store.ts'
import {
  openStore,
  PARTITION,
  PROPERTY_TIMEOUT_MS,
  propertyRuns,
  storedRows,
  type TestBackend,
  testBackends,
  testChangelog,
} from './harness.ts'

const STORE = 'seen'
const CACHED_OBJECTS = 2
/** So small that no item of these tests is wrongly taken for another: the model is a plain set. */
const EXACT = 1e-9

type Step = { do: 'add' | 'has'; key: string; item: number } | { do: 'delete'; key: string } | { do: 'commit' | 'abort' | 'reopen' }

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
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('commit' as const, 'abort' as const, 'reopen' as const) }) },
)

function newStore(capacity = 1_000, errorRate = EXACT): SeenSetStore<string, string> {
  return seenSetStore(STORE, { key: utf8, item: utf8, capacity, errorRate })
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  let store = openStore(newStore(), opened.backend, CACHED_OBJECTS)
  const changelog = testChangelog()
  let current = new Map<string, Set<number>>()
  let committed = new Map<string, Set<number>>()
  const copy = (of: Map<string, Set<number>>) => new Map([...of].map(([key, items]) => [key, new Set(items)]))

  for (const step of steps) {
    switch (step.do) {
      case 'add': {
        const items = current.get(step.key) ?? new Set()
        expect(store.add(step.key, `${step.item}`)).toBe(!items.has(step.item))
        current.set(step.key, items.add(step.item))
        expect(store.size(step.key)).toBe(items.size)
        break
      }
      case 'has':
        store.prefetch(step.key)
        store.loadPrefetched()
        expect(store.has(step.key, `${step.item}`)).toBe(current.get(step.key)?.has(step.item) ?? false)
        break
      case 'delete':
        store.delete(step.key)
        current.delete(step.key)
        break
      case 'commit':
        store.flush(changelog)
        changelog.commit()
        opened.session.write()
        store.committed()
        committed = copy(current)
        expect(storedRows(opened.backend, STORE)).toEqual(changelog.rows)
        break
      case 'abort':
      case 'reopen':
        opened.session.dropBatch()
        store.discard()
        changelog.abort()
        current = copy(committed)
        if (step.do === 'abort') break
        await opened.reopen()
        store = openStore(newStore(), opened.backend, CACHED_OBJECTS)
        break
    }
  }
}

for (const open of testBackends) {
  test(
    `a seen-set gives what a set gives, through commits, aborts and restarts (${open.name})`,
    async () => {
      const opened = await open()
      try {
        await fc.assert(
          fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 60 }), async (steps) => {
            opened.session.clear(STORE, PARTITION)
            await runAgainstModel(opened, steps)
            opened.session.dropBatch()
          }),
          { numRuns: propertyRuns(opened) },
        )
      } finally {
        await opened.remove()
      }
    },
    PROPERTY_TIMEOUT_MS,
  )
}

describe('a full set', () => {
  const CAPACITY = 5_000
  const ERROR_RATE = 0.01
  const ADDED = 3 * CAPACITY

  function filled(): { store: SeenSetStore<string, string>; remembered: string[] } {
    const store = openStore(newStore(CAPACITY, ERROR_RATE), memoryBackend())
    const items = Array.from({ length: ADDED }, (_, i) => `item-${i}`)
    return { store, remembered: items.filter((item) => store.add('ann', item)) }
  }

  test('remembers the newest of what it took for new, as many as its capacity says, and forgets the oldest', () => {
    const { store, remembered } = filled()
    expect(remembered.length).toBeGreaterThan(ADDED * (1 - ERROR_RATE))
    for (const item of remembered.slice(-CAPACITY)) expect(store.has('ann', item)).toBe(true)
    expect(store.size('ann')).toBeLessThan(CAPACITY * 1.5)
    const forgotten = remembered.slice(0, CAPACITY)
    expect(forgotten.filter((item) => store.has('ann', item)).length / CAPACITY).toBeLessThan(2 * ERROR_RATE)
  })

  test('is wrong no more often than its rate says', () => {
    const { store } = filled()
    const asked = 50_000
    let wrong = 0
    for (let i = 0; i < asked; i++) if (store.has('ann', `other-${i}`)) wrong++
    expect(wrong / asked).toBeLessThan(ERROR_RATE)
    expect(wrong).toBeGreaterThan(0)
  })

  test('costs what its items need, and a small one little', () => {
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
    // Up to a quarter more items than the capacity, at 13 to 15 bits each.
    expect(row.length).toBeLessThan((CAPACITY * 1.25 * 15) / 8 + 200)
  })
})

test.each([
  [{ capacity: 0 }, 'capacity must be a positive integer'],
  [{ capacity: 1.5 }, 'capacity must be a positive integer'],
  [{ errorRate: 0 }, 'errorRate must lie between 0 and 1'],
  [{ errorRate: 1 }, 'errorRate must lie between 0 and 1'],
])('%o is refused', (wrong, message) => {
  expect(() => seenSetStore(STORE, { key: utf8, item: utf8, capacity: 10, errorRate: 0.01, ...wrong })).toThrow(message)
})

test.each([1, 2, 63, 65, 300])('a capacity of %i holds', (capacity) => {
  const store = openStore(newStore(capacity), memoryBackend())
  for (let i = 0; i < 5 * Math.max(64, capacity); i++) {
    store.add('ann', `item-${i}`)
    expect(store.has('ann', `item-${Math.max(0, i - capacity + 1)}`)).toBe(true)
  }
  expect(store.size('ann')).toBeLessThan(capacity + 2 * 64 + capacity / 2)
})

test('readers outside see how many items there are', () => {
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
