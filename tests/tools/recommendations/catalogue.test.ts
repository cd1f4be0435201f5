import { expect, test } from 'vitest'
import { newestValues } from '../../../tools/recommendations/history/catalogue.ts'

test('a value with an older time does not replace a newer one, unless the newer one was deleted', () => {
  const { values, put } = newestValues<bigint, { readonly updated_at: number; readonly title?: string }>()
  for (const title of ['first', 'second']) put(1n, { updated_at: 5, title })
  put(1n, { updated_at: 4 })
  put(2n, { updated_at: 5 })
  put(2n, undefined)
  put(2n, { updated_at: 4 })
  expect([...values]).toEqual([
    [1n, { updated_at: 5, title: 'second' }],
    [2n, { updated_at: 4 }],
  ])
})
