import { expect, test } from 'vitest'
import { categoryTree } from '../../../../../api/catalog/categories/tree.ts'
import type { ProductIndex } from '../../../../../api/catalog/search/engine/product-index.ts'
import { suggester } from '../../../../../api/catalog/search/suggest/suggest.ts'
import type { Category } from '../../../../../schemas/catalog/types.ts'

const MOST_AT_ONCE = 100
const NOTHING = { hits: { hits: [] }, aggregations: { brands: { buckets: [] } } }

function suggesterOf(categories: Category[]) {
  const index = { search: async () => NOTHING } as unknown as ProductIndex
  return suggester({ index, categories: () => categoryTree(categories) })
}

function category(category_id: number, name: string): Category {
  return { category_id, parent_id: null, name, slug: `c-${category_id}` }
}

test('a category is suggested if each word of the query begins a word of its name', async () => {
  const suggest = suggesterOf([category(1, 'Circular saws'), category(2, 'Saw blades'), category(3, 'Sawdust bags')])
  expect((await suggest('saw', 10)).categories.map(({ name }) => name)).toEqual(['Circular saws', 'Saw blades', 'Sawdust bags'])
  expect((await suggest('saw bla', 10)).categories).toEqual([{ category_id: 2, name: 'Saw blades', path: 'c-2' }])
})

test('a category is suggested even if the typed beginning of a word of its name is also a unit', async () => {
  const suggest = suggesterOf([
    category(1, 'Garden tools'),
    category(2, 'Gauge blocks'),
    category(3, 'Footrests'),
    category(4, 'Foot care'),
  ])
  expect((await suggest('ga', 10)).categories.map(({ name }) => name)).toEqual(['Garden tools', 'Gauge blocks'])
  expect((await suggest('foot', 10)).categories.map(({ name }) => name)).toEqual(['Footrests', 'Foot care'])
})

test('at most five brands and five categories are suggested', async () => {
  const buckets = Array.from({ length: 9 }, (_, index) => ({ key: `Sawyer ${index}` }))
  const index = { search: async () => ({ ...NOTHING, aggregations: { brands: { buckets } } }) } as unknown as ProductIndex
  const named = Array.from({ length: 9 }, (_, at) => category(at + 1, 'Saws'))
  const { brands, categories } = await suggester({ index, categories: () => categoryTree(named) })('saw', 10)
  expect(brands).toEqual(['Sawyer 0', 'Sawyer 1', 'Sawyer 2', 'Sawyer 3', 'Sawyer 4'])
  expect(categories.map(({ category_id }) => category_id)).toEqual([1, 2, 3, 4, 5])
})

test('at most 100 suggestions run at once, and further requests get 503 unavailable', async () => {
  const answering: (() => void)[] = []
  const search = () => new Promise((resolve) => answering.push(() => resolve(NOTHING)))
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
