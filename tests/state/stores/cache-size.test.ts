import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { ENTRY_BYTES } from '../../../state/stores/entry-cache.ts'
import { type KeyedStore, keyedStore } from '../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import type { StateColumn } from '../../../state/stores/store.ts'
import { raw, TOPOLOGY } from './harness.ts'

const KEYS = Array.from({ length: 1_000 }, (_, i) => `key ${i}`)
/** Cache size in bytes, with room for only some of the keys. */
const SMALL = 2_000

interface World {
  readonly store: KeyedStore<string, string>
  /** How many keys each multi-get reads. */
  readonly reads: number[]
}

/** Opens a store with all keys in the database and none in the cache. */
function storeOf(valueBytes: number, cacheBytes: { readonly worker: number; readonly store?: number }): World {
  const session = memoryBackend().session(TOPOLOGY)
  const column = session.column('store', 0)
  const reads: number[] = []
  const counting: StateColumn = {
    ...column,
    multiGet(keys) {
      reads.push(keys.ends.length)
      return column.multiGet(keys)
    },
  }
  const store = keyedStore<string, string>('store', { key: utf8, value: raw(utf8), cacheBytes: cacheBytes.store })
  store.open({ column: counting, codec: utf8, cacheBytes: cacheBytes.worker })
  for (const key of KEYS) store.put(key, 'x'.repeat(valueBytes))
  store.flush(undefined)
  session.write()
  store.committed()
  store.discard()
  return { store, reads }
}

function prefetchAll(store: KeyedStore<string, string>, keys: readonly string[]): void {
  for (const key of keys) store.prefetch(key)
  store.loadPrefetched()
}

/** Reads all keys one by one, and returns how many of the last keys are in memory afterwards. */
function keptOf({ store, reads }: World): number {
  for (const key of KEYS) store.get(key)
  const before = reads.length
  return KEYS.toReversed().findIndex((key) => {
    store.get(key)
    return reads.length > before
  })
}

test('a batch larger than the cache is read with one multi-get', () => {
  const { store, reads } = storeOf(10, { worker: SMALL })
  store.prefetchFor(0)
  prefetchAll(store, KEYS)
  for (const key of KEYS) store.get(key)
  expect(reads).toEqual([1_000])
})

test('keys of a batch that are already in memory are not read again, and stay in memory until the batch is processed', () => {
  const { store, reads } = storeOf(10, { worker: SMALL })
  store.get('key 999')
  store.prefetchFor(0)
  prefetchAll(store, KEYS.toReversed())
  for (const key of KEYS) store.get(key)
  expect(reads).toEqual([1, 999])
})

test('the batch of one source stays in memory while several batches of another source are processed', () => {
  const { store, reads } = storeOf(10, { worker: SMALL })
  const slow = KEYS.slice(0, 400)
  store.prefetchFor(0)
  prefetchAll(store, slow)
  for (let from = 400; from < KEYS.length; from += 200) {
    const fast = KEYS.slice(from, from + 200)
    store.prefetchFor(1)
    prefetchAll(store, fast)
    for (const key of fast) store.get(key)
  }
  for (const key of slow) store.get(key)
  expect(reads).toEqual([400, 200, 200, 200])
})

test('keys that a time handler prefetches stay in memory until the handler has read them', () => {
  const { store, reads } = storeOf(10, { worker: SMALL })
  prefetchAll(store, KEYS)
  for (const key of KEYS) store.get(key)
  expect(reads).toEqual([1_000])
})

test('a batch leaves memory after it has been processed', () => {
  const { store, reads } = storeOf(10, { worker: SMALL })
  store.prefetchFor(0)
  prefetchAll(store, KEYS.slice(0, 500))
  store.prefetchFor(0)
  prefetchAll(store, KEYS.slice(500))
  store.prefetchFor(0)
  for (let i = 0; i < 2_000; i++) store.get(`absent ${i}`)
  reads.length = 0
  for (const key of KEYS) store.get(key)
  expect(reads).toHaveLength(1_000)
})

test.each([10, 300, 2_000])(
  'objects of %i bytes fill at least half of the configured cache size, and exceed it by at most two objects',
  (valueBytes) => {
    const cacheBytes = 40_000
    const bytes = ENTRY_BYTES + 'key 999'.length + valueBytes
    const kept = keptOf(storeOf(valueBytes, { worker: cacheBytes }))
    expect((kept + 1) * bytes).toBeGreaterThanOrEqual(cacheBytes / 2)
    expect(kept * bytes).toBeLessThanOrEqual(cacheBytes + 2 * bytes)
  },
)

test('a cache size that is set for a store takes precedence over the cache size of the worker', () => {
  expect(keptOf(storeOf(10, { worker: 1, store: 40_000 }))).toBeGreaterThan(80)
  expect(keptOf(storeOf(10, { worker: 40_000, store: 1 }))).toBeLessThan(3)
})

test('objects that have grown in memory are evicted when 200 other objects are read', () => {
  const world = storeOf(10, { worker: 40_000 })
  for (const key of KEYS.slice(0, 20)) world.store.put(key, 'x'.repeat(2_000))
  world.store.flush(undefined)
  world.store.committed()
  world.reads.length = 0
  for (const key of KEYS.slice(20, 120)) world.store.get(key)
  for (const key of KEYS.slice(120, 220)) world.store.get(key)
  world.reads.length = 0
  world.store.get('key 0')
  expect(world.reads).toEqual([1])
})
