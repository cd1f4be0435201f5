import { expect, test } from 'vitest'
import { categoryTree } from '../../../../../api/catalog/categories/tree.ts'
import type { ProductIndex } from '../../../../../api/catalog/search/engine/product-index.ts'
import { suggester } from '../../../../../api/catalog/search/suggest/suggest.ts'

const MOST_AT_ONCE = 100

test('at most 100 suggestions run at once, and further ones get 503 unavailable', async () => {
  const answering: (() => void)[] = []
  const nothing = { hits: { hits: [] }, aggregations: { brands: { buckets: [] } } }
  const search = () => new Promise((resolve) => answering.push(() => resolve(nothing)))
  const suggest = suggester({ index: { search } as unknown as ProductIndex, categories: () => categoryTree([]) })
  const running = Array.from({ length: MOST_AT_ONCE }, (_, index) => suggest(`drill ${index}`, 10))
  await expect(suggest('drill', 10)).rejects.toMatchObject({ definition: { code: 'unavailable', status: 503 } })
  expect(answering).toHaveLength(MOST_AT_ONCE)
  for (const answer of answering) answer()
  expect(await Promise.all(running)).toHaveLength(MOST_AT_ONCE)
  const next = suggest('drill', 10)
  answering.at(-1)!()
  expect(await next).toEqual({ suggestions: [], brands: [], categories: [] })
})
