import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { shortCache } from '../../../api/kit/short-cache.ts'

const KEPT_MS = 1_000

function counting(maxEntries = 10) {
  const state = { now: 0, loads: [] as string[], fail: false }
  const cache = shortCache<string, number>({
    async load(key) {
      state.loads.push(key)
      if (state.fail) throw new Error('down')
      return state.loads.length
    },
    keptMs: KEPT_MS,
    maxEntries,
    now: () => state.now,
  })
  return { state, cache }
}

test('all callers share one load until the value expires, even if they call concurrently', async () => {
  const { state, cache } = counting()
  expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual([1, 1, 2])
  state.now = KEPT_MS - 1
  expect(await cache.get('a')).toBe(1)
  state.now = KEPT_MS
  expect(await cache.get('a')).toBe(3)
})

test('a failure reaches all waiting callers and is not cached', async () => {
  const { state, cache } = counting()
  state.fail = true
  const results = await Promise.allSettled([cache.get('a'), cache.get('a')])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(state.loads).toHaveLength(1)
  state.fail = false
  expect(await cache.get('a')).toBe(2)
})

test('the oldest entry is evicted when the cache is full', async () => {
  const { state, cache } = counting(2)
  for (const key of ['a', 'b', 'c', 'b', 'a']) await cache.get(key)
  expect(state.loads).toEqual(['a', 'b', 'c', 'a'])
})

test('the cache does not keep the values of expired entries in memory', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  let now = 0
  const loaded: WeakRef<object>[] = []
  const cache = shortCache<string, object>({
    async load(key) {
      const value = { key }
      loaded.push(new WeakRef(value))
      return value
    },
    keptMs: KEPT_MS,
    maxEntries: 10,
    now: () => now,
  })
  await cache.get('a')
  now = 1
  await cache.get('b')
  now = KEPT_MS
  await cache.get('c')
  // A WeakRef keeps its target alive until the current turn of the event loop ends.
  await setImmediate()
  gc()
  expect(loaded.map((each) => each.deref())).toEqual([undefined, { key: 'b' }, { key: 'c' }])
})

test('a value is loaded again after the clock was set back', async () => {
  const { state, cache } = counting()
  state.now = 3_600_000
  await cache.get('a')
  state.now = 0
  expect(await cache.get('a')).toBe(2)
})
