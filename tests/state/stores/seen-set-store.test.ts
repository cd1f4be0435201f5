import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { MAX_PAGE_BYTES, withoutMark } from '../../../state/stores/seen-set/page.ts'
import { seenSetReader } from '../../../state/stores/seen-set/reader.ts'
import { type SeenSetStore, seenSetStore } from '../../../state/stores/seen-set-store.ts'
import { openStore, PARTITION, storedRows, type TestBackend, TOPOLOGY, testChangelog } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'seen'
/** Cache size with room for only a few objects. */
const CACHE_BYTES = 800
/**
 * Default error rate in the tests. It is so low that there are no false positives, so an ordinary set can serve as the
 * model.
 */
const EXACT = 1e-6
const LIFETIME_MS = 1_000
const LONGEST_LIFE_MS = 1_100
const START = 1_000_000
const DAY_MS = 24 * 3_600_000
const MONTH_MS = 30 * DAY_MS

type Step =
  | { do: 'add' | 'has'; key: string; item: number; late: number }
  | { do: 'delete'; key: string }
  | { do: 'wait'; ms: number }
  | { do: 'expire'; limit: number }
  | LifeStep

const keyArbitrary = fc.constantFrom('ann', 'anna', 'bob')
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('add' as const, 'add' as const, 'has' as const),
      key: keyArbitrary,
      item: fc.integer({ min: 0, max: 40 }),
      late: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 1_500 }) }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 20, 150, 600, 1_200) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('expire' as const), limit: fc.constantFrom(1, 2, 100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), key: keyArbitrary }) },
  { weight: 3, arbitrary: lifeSteps },
)

interface Shape {
  capacity?: number
  errorRate?: number
  lifetimeMs?: number
  collectChanges?: boolean
}

function newStore({ capacity = 1_000, errorRate = EXACT, lifetimeMs = LIFETIME_MS, ...more }: Shape = {}): SeenSetStore<string, string> {
  return seenSetStore(STORE, { key: utf8, item: utf8, capacity, errorRate, lifetimeMs, ...more })
}

interface Model {
  /** The latest time at which each item was added, by key and item. */
  readonly items: Map<string, Map<string, number>>
  /** A copy of the pages, kept up to date with the collected changes. */
  readonly pages: Map<string, Buffer>
}

function copy({ items, pages }: Model): Model {
  return { items: new Map([...items].map(([key, times]) => [key, new Map(times)])), pages: new Map(pages) }
}

async function runAgainstModel(opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const open = () => openStore(newStore({ collectChanges: true }), opened.backend, CACHE_BYTES)
  const both = modelled(opened, open, { items: new Map(), pages: new Map() } as Model, copy)
  /**
   * The current time of the run. No time that is passed to the store is later. Items that have expired by this time may
   * be gone.
   */
  let now = START

  function check(seen: boolean, added: number | undefined, at: number): void {
    if (added === undefined || added < at - LONGEST_LIFE_MS) expect(seen).toBe(false)
    else if (added >= now - LIFETIME_MS) expect(seen).toBe(true)
  }

  function takeChanges(): void {
    for (const { key, page, bytes } of both.store.takeChanges()) {
      const id = `${key} ${page}`
      if (bytes === undefined) both.current.pages.delete(id)
      else both.current.pages.set(id, bytes)
    }
    const pages = ['ann', 'anna', 'bob'].flatMap((key) =>
      both.store.pages(key).map(({ page, bytes }): [string, Buffer] => [`${key} ${page}`, bytes]),
    )
    expect(new Map(pages)).toEqual(both.current.pages)
  }

  for (const step of steps) {
    switch (step.do) {
      case 'wait':
        now += step.ms
        break
      case 'add': {
        const items = both.current.items.get(step.key) ?? new Map<string, number>()
        const item = `${step.item}`
        const at = now - step.late
        const before = items.get(item)
        check(!both.store.add(step.key, item, at), before, at)
        both.current.items.set(step.key, items.set(item, Math.max(at, before ?? 0)))
        check(both.store.has(step.key, item, now), items.get(item), now)
        break
      }
      case 'has': {
        const item = `${step.item}`
        both.store.prefetch(step.key, item)
        both.store.loadPrefetched()
        check(both.store.has(step.key, item, now - step.late), both.current.items.get(step.key)?.get(item), now - step.late)
        break
      }
      case 'delete':
        both.store.delete(step.key)
        both.current.items.delete(step.key)
        expect(both.store.size(step.key, START)).toBe(0)
        break
      case 'expire': {
        while (both.store.expire(now, step.limit) >= step.limit);
        for (const [key, items] of both.current.items) {
          const times = [...items.values()]
          if (times.every((time) => time < now - LONGEST_LIFE_MS)) expect(both.store.pages(key)).toEqual([])
          const size = both.store.size(key, now)
          expect(size).toBeGreaterThanOrEqual(times.filter((time) => time >= now - LIFETIME_MS).length)
          expect(size).toBeLessThanOrEqual(times.filter((time) => time >= now - LONGEST_LIFE_MS).length)
        }
        break
      }
      case 'flush':
      case 'commit':
        takeChanges()
        await both.live(step)
        break
      default:
        await both.live(step)
    }
  }
}

testAgainstModel(
  'a seen-set answers like a set of items with times, through commits, aborts and restarts',
  STORE,
  stepArbitrary,
  runAgainstModel,
)

describe('a set with a capacity of 50,000 items, an error rate of 1 % and a lifetime of 30 days', () => {
  const SHAPE = { capacity: 50_000, errorRate: 0.01, lifetimeMs: MONTH_MS }
  const START_MS = Date.UTC(2026, 0, 1)
  const MANY = 1_000_000
  const FILL_TIMEOUT_MS = 120_000

  /**
   * Adds items to a new store at equal intervals. Returns the store, how many items were mistaken for others, and the
   * time at the end.
   */
  function filled(items: number, overMs: number): { store: SeenSetStore<string, string>; mistaken: number; now: number } {
    const store = openStore(newStore(SHAPE), memoryBackend(), MANY)
    let mistaken = 0
    for (let i = 0; i < items; i++) {
      if (!store.add('ann', `item-${i}`, START_MS + Math.floor((i * overMs) / items))) mistaken++
    }
    return { store, mistaken, now: START_MS + overMs }
  }

  /** Adds one item and returns the rows that the store writes to the changelog for it. */
  function rowsOfOneMore(store: SeenSetStore<string, string>, item: string, now: number): [string, string][] {
    store.add('ann', item, now)
    const changelog = testChangelog()
    store.flush(changelog)
    changelog.commit()
    store.committed()
    return [...changelog.rows]
  }

  test.each([
    { items: 300, overMs: MONTH_MS, pageBytes: 600 },
    { items: 300, overMs: 0, pageBytes: 500 },
    { items: 5_000, overMs: MONTH_MS, pageBytes: 10_500 },
    { items: 50_000, overMs: MONTH_MS, pageBytes: 105_000 },
  ])('$items items in $overMs ms are all remembered, with few errors, in at most $pageBytes bytes', { timeout: FILL_TIMEOUT_MS }, (row) => {
    const { items, overMs, pageBytes } = row
    const { store, mistaken, now } = filled(items, overMs)
    const pages = new Map(store.pages('ann').map(({ page, bytes }) => [page, bytes]))
    const read = seenSetReader({ item: utf8, ...SHAPE }).open((page) => pages.get(page), now)
    expect(mistaken / items).toBeLessThan(SHAPE.errorRate)
    for (let i = 0; i < items; i++) if (!read.has(`item-${i}`)) expect.fail(`item ${i} was forgotten`)
    // A new item that is mistaken for an old one may be stored nevertheless, because adding an old item again renews
    // its lifetime.
    expect(store.size('ann', now)).toBeGreaterThanOrEqual(items - mistaken)
    expect(store.size('ann', now)).toBeLessThanOrEqual(items)
    const sizes = Array.from(pages.values(), ({ length }) => length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_PAGE_BYTES)
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(pageBytes)
    const asked = 50_000
    let wrong = 0
    for (let i = 0; i < asked; i++) if (read.has(`other-${i}`)) wrong++
    expect(wrong / asked).toBeLessThan(SHAPE.errorRate)
    expect(wrong).toBeGreaterThan(0)

    store.flush(undefined)
    store.committed()
    for (let i = 0; i < 100; i++) {
      const rows = rowsOfOneMore(store, `more-${i}`, now)
      // Adding an item writes one page. If the page is new, a second row is written, so that the page can be found when
      // it expires.
      expect(rows.filter(([, value]) => value.length > 'header'.length).length).toBeLessThanOrEqual(1)
      expect(rows.reduce((sum, [key, value]) => sum + key.length + value.length, 0)).toBeLessThan(600)
    }
  })

  test('all its pages are deleted after its items have expired', () => {
    const { store, now } = filled(2_000, MONTH_MS)
    while (store.expire(now, 10) === 10);
    expect(store.size('ann', now)).toBeGreaterThanOrEqual(1_980)
    const later = now + 1.1 * MONTH_MS
    expect(store.has('ann', 'item-1999', later)).toBe(false)
    while (store.expire(later, 10) === 10);
    expect(store.pages('ann')).toEqual([])
    const changelog = testChangelog()
    store.flush(changelog)
    changelog.commit()
    expect(changelog.rows.size).toBe(0)
  })
})

describe('a set with more items than its capacity', () => {
  const CAPACITY = 2_000
  const ERROR_RATE = 0.01
  const ADDED = 4 * CAPACITY
  const FILL_TIMEOUT_MS = 60_000

  /** Each row has the time between two items, in ms, and the number of items that are remembered. */
  test.each([
    [1_000, CAPACITY],
    [60_000, CAPACITY],
    [3_600_000, 720],
  ])('that receives one item every %i ms remembers the last %i items', { timeout: FILL_TIMEOUT_MS }, (stepMs, live) => {
    const store = openStore(newStore({ capacity: CAPACITY, errorRate: ERROR_RATE, lifetimeMs: MONTH_MS }), memoryBackend(), ADDED)
    const items = Array.from({ length: ADDED }, (_, i) => `item-${i}`)
    const remembered = items.filter((item, i) => store.add('ann', item, START + i * stepMs))
    const now = START + ADDED * stepMs
    expect(remembered.length).toBeGreaterThan(ADDED * (1 - ERROR_RATE))
    // An item that was mistaken for an older item is forgotten together with the older item.
    for (const item of remembered.slice(-live * (1 - ERROR_RATE))) if (!store.has('ann', item, now)) expect.fail(`${item} was forgotten`)
    expect(store.size('ann', now)).toBeLessThan(CAPACITY * 2)
    expect(items.slice(0, CAPACITY).filter((item) => store.has('ann', item, now)).length / CAPACITY).toBeLessThan(2 * ERROR_RATE)
    let wrong = 0
    for (let i = 0; i < ADDED; i++) if (store.has('ann', `other-${i}`, now)) wrong++
    expect(wrong / ADDED).toBeLessThan(ERROR_RATE)
    store.add('ann', 'late', 0)
    expect(store.has('ann', 'late', START)).toBe(true)
  })
})

test.each([1, 2, 63, 65, 300])('a set with capacity %i remembers at least that many items', (capacity) => {
  const store = openStore(newStore({ capacity, lifetimeMs: MONTH_MS }), memoryBackend())
  const stepMs = 60_000
  for (let i = 0; i < 5 * Math.max(64, capacity); i++) {
    const now = START + i * stepMs
    store.add('ann', `item-${i}`, now)
    expect(store.has('ann', `item-${Math.max(0, i - capacity + 1)}`, now)).toBe(true)
  }
})

describe('the only page of a set', () => {
  const SHAPE = { capacity: 2_000, lifetimeMs: MONTH_MS }

  /** Opens a store on a backend, as a worker does. Counts the rows that the store looks up. */
  function opened(backend = memoryBackend()) {
    const session = backend.session(TOPOLOGY)
    const column = session.column(STORE, PARTITION)
    const looked = { rows: 0 }
    const store = newStore(SHAPE)
    const multiGet: typeof column.multiGet = (keys) => {
      looked.rows += keys.ends.length
      return column.multiGet(keys)
    }
    store.open({ column: { ...column, multiGet }, codec: store.values.open(0, { get: () => undefined }), cacheBytes: CACHE_BYTES })
    function commit(): void {
      store.flush(undefined)
      session.write()
      store.committed()
    }
    return { backend, store, looked, commit }
  }

  /** Removes the marks of the only pages, as if an older version without marks had written these pages. */
  function forgetMarks(backend: ReturnType<typeof memoryBackend>): void {
    const session = backend.session(TOPOLOGY)
    const column = session.column(STORE, PARTITION)
    for (const [key, value] of [...column.scan({})]) {
      // A row consists of the schema id in five bytes, the length of the page in one or two bytes, and the page.
      if (value.length <= 6) continue
      const start = value.length > 64 + 6 ? 7 : 6
      const page = withoutMark(value.subarray(start))
      column.put(key, 0, key.length, Buffer.concat([value.subarray(0, start), page]), 0, value.length)
    }
    session.write()
  }

  test('is read without a search for further pages once it has a mark, even if it was first written without a mark', () => {
    const first = opened()
    first.store.add('ann', 'x', START)
    first.commit()
    forgetMarks(first.backend)
    const second = opened(first.backend)
    expect([second.store.has('ann', 'x', START), second.store.has('ann', 'y', START)]).toEqual([true, false])
    expect(second.looked.rows).toBeGreaterThan(2)
    second.store.add('ann', 'y', START)
    second.commit()
    const { store, looked } = opened(first.backend)
    store.prefetch('ann', 'z')
    store.loadPrefetched()
    expect([store.add('ann', 'x', START), store.add('ann', 'z', START)]).toEqual([false, true])
    expect(looked.rows).toBe(1)
  })

  test.each([1, 50, Number.POSITIVE_INFINITY])(
    'is followed by further pages when it is full, and no item is lost, with a commit every %d items',
    (every) => {
      let now = START
      const { backend, store, commit } = opened()
      const items = Array.from({ length: 1_000 }, (_, index) => `item-${index}`)
      items.forEach((item, index) => {
        now += DAY_MS / 100
        expect(store.add('ann', item, now)).toBe(true)
        if (index % every === 0) commit()
      })
      commit()
      for (const again of [store, opened(backend).store]) expect(items.filter((item) => !again.has('ann', item, now))).toEqual([])
      forgetMarks(backend)
      const later = opened(backend)
      for (const item of items) expect(later.store.add('ann', item, now + DAY_MS)).toBe(false)
      // At this time, all items in the first page have expired, but every other page still contains items.
      while (later.store.expire(START + MONTH_MS + 5 * DAY_MS, 10) === 10);
      later.commit()
      const last = opened(backend).store
      last.add('ann', 'one more', now + MONTH_MS / 2)
      expect(last.has('ann', 'item-999', now + MONTH_MS / 2)).toBe(true)
    },
  )
})

describe('a lifetime', () => {
  test('starts again when an item is added again', () => {
    const store = openStore(newStore({ lifetimeMs: MONTH_MS }), memoryBackend())
    expect(store.add('ann', 'x', START)).toBe(true)
    expect(store.add('ann', 'x', START + 20 * DAY_MS)).toBe(false)
    expect(store.has('ann', 'x', START + 45 * DAY_MS)).toBe(true)
    expect(store.size('ann', START + 45 * DAY_MS)).toBe(1)
    expect(store.has('ann', 'x', START + 54 * DAY_MS)).toBe(false)
    expect(store.add('ann', 'x', START + 54 * DAY_MS)).toBe(true)
  })

  test('does not become shorter when an item is added again with an earlier time', () => {
    const store = openStore(newStore({ lifetimeMs: MONTH_MS }), memoryBackend())
    store.add('ann', 'x', START + 20 * DAY_MS)
    expect(store.add('ann', 'x', START)).toBe(false)
    expect(store.has('ann', 'x', START + 49 * DAY_MS)).toBe(true)
  })

  test('ends first for the older items of a page: a check removes them, and the next check is due when the newest items expire', async () => {
    const backend = memoryBackend()
    const store = openStore(newStore({ lifetimeMs: MONTH_MS }), backend)
    store.add('ann', 'x', START)
    store.add('ann', 'y', START + 20 * DAY_MS)
    expect(store.expire(START + 33 * DAY_MS, 10)).toBe(1)
    expect(store.size('ann', START)).toBe(1)
    // The store checks the page again when its newest items expire.
    expect(store.expire(START + 52 * DAY_MS, 10)).toBe(0)
    expect(store.expire(START + 53 * DAY_MS, 10)).toBe(1)
    expect(store.size('ann', START)).toBe(0)
    store.flush(undefined)
    expect(storedRows(backend, STORE).size).toBe(0)
  })
})

describe('changes', () => {
  test('contain each page once, with the items added to it', () => {
    const store = openStore(newStore({ collectChanges: true }), memoryBackend())
    for (const item of ['x', 'y', 'x']) store.add('ann', item, START)
    store.add('bob', 'z', START)
    const changes = store.takeChanges()
    expect(changes.map(({ key, page, added }) => ({ key, page, added }))).toEqual([
      { key: 'ann', page: 0, added: ['x', 'y'] },
      { key: 'bob', page: 0, added: ['z'] },
    ])
    expect(changes[0].bytes).toEqual(store.pages('ann')[0].bytes)
    expect(store.takeChanges()).toEqual([])
    store.delete('ann')
    expect(store.takeChanges()).toEqual([{ key: 'ann', page: 0, added: [], bytes: undefined }])
    while (store.expire(START + LONGEST_LIFE_MS, 1) === 1);
    expect(store.takeChanges()).toEqual([{ key: 'bob', page: 0, added: [], bytes: undefined }])
  })

  test('must be taken before a commit, because copies of the pages would otherwise miss these changes', () => {
    const store = openStore(newStore({ collectChanges: true }), memoryBackend())
    store.add('ann', 'x', START)
    expect(() => store.flush(undefined)).toThrow('the commit would lose 1 changed pages')
    store.discard()
    store.flush(undefined)
  })

  test('are collected only with the option collectChanges', () => {
    const store = openStore(newStore(), memoryBackend())
    store.add('ann', 'x', START)
    store.flush(undefined)
    expect(() => store.takeChanges()).toThrow('collectChanges')
  })
})

test('the error about an invalid option names the store', () => {
  expect(() => newStore({ capacity: 0 })).toThrow('store seen: capacity must be a positive integer')
})
