import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { keyFilter } from '../../../state/stores/key-filter.ts'

test('a filter for three keys excludes a key that was not added, and admits every key once a fourth is added', () => {
  const filter = keyFilter(utf8, 3)
  for (const key of ['a', 'b', 'c']) filter.add(key)
  expect(['a', 'b', 'c', 'd'].map(filter.mayHave)).toEqual([true, true, true, false])
  filter.add('d')
  expect(['a', 'd', 'e'].map(filter.mayHave)).toEqual([true, true, true])
  for (let i = 0; i < 5_000; i++) filter.removed()
  expect(filter.isStale).toBe(false)
  filter.clear()
  expect(filter.mayHave('a')).toBe(false)
})
