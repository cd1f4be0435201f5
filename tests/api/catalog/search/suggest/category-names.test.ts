import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { categoryTree } from '../../../../../api/catalog/categories/tree.ts'
import { categoryNames } from '../../../../../api/catalog/search/suggest/category-names.ts'
import { wordsOf } from '../../../../../state/indexes/catalog/words.ts'

const category = (category_id: number, name: string) => ({ category_id, parent_id: null, name, slug: `c${category_id}` })
const saws = Array.from({ length: 2_000 }, (_, index) => category(index + 1, `Saw ${index}`))

test('the name of a category is split into words only once, even if several callers list the categories, and again if it changes', async () => {
  const split: string[] = []
  const namesIn = categoryNames((name) => {
    split.push(name)
    return wordsOf(name)
  })
  const tree = categoryTree(saws)
  const [list] = await Promise.all([namesIn(tree), namesIn(tree)])
  expect(list.map(({ category }) => category)).toEqual(tree.all)
  expect(split).toHaveLength(saws.length)
  const [, ...others] = saws
  const changed = await namesIn(categoryTree([category(1, 'Claw hammers'), ...others]))
  expect(changed.find(({ category }) => category.category_id === 1)?.words).toEqual(['claw', 'hammers'])
  expect(split.slice(saws.length)).toEqual(['Claw hammers'])
})

test('while 2,000 names are split, the event loop also runs other work', async () => {
  let isDone = false
  const listing = categoryNames()(categoryTree(saws)).then(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await nextTurn()
  await listing
  expect(turns).toBeGreaterThan(2)
})
