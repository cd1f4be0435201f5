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

test('concurrent callers, and callers shortly afterwards, share one load', async () => {
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

test('evicts the oldest entry when the cache is full', async () => {
  const { state, cache } = counting(2)
  for (const key of ['a', 'b', 'c', 'b', 'a']) await cache.get(key)
  expect(state.loads).toEqual(['a', 'b', 'c', 'a'])
})
