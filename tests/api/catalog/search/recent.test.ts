import { expect, it } from 'vitest'
import { recent } from '../../../../api/catalog/search/recent.ts'

it('the lifetime of a value begins again each time the value is set', () => {
  let now = 0
  const counts = recent<number>({ keptMs: 100, most: 10, now: () => now })
  counts.set('drill', 1)
  now = 99
  expect([counts.get('drill'), counts.get('dril')]).toEqual([1, undefined])
  counts.set('drill', 2)
  now = 198
  expect(counts.get('drill')).toBe(2)
  now = 199
  expect(counts.get('drill')).toBeUndefined()
})

it('if more values are set than the maximum, those that were set last are kept', () => {
  const counts = recent<number>({ keptMs: 100, most: 2, now: () => 0 })
  for (const [at, key] of ['a', 'b', 'a', 'c'].entries()) counts.set(key, at)
  expect([counts.get('a'), counts.get('b'), counts.get('c')]).toEqual([2, undefined, 3])
})

it('setting the clock back does not extend the lifetime of a value', () => {
  let now = 100_000
  const values = recent<string>({ keptMs: 1_000, most: 2, now: () => now })
  values.set('a', 'one')
  now -= 60_000
  expect(values.get('a')).toBeUndefined()
})
