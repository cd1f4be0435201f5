import fc from 'fast-check'
import { expect, test } from 'vitest'
import { categoryFault, MOST_LEVELS } from '../../../../api/catalog/categories/check.ts'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import type { Category } from '../../../../schemas/catalog/types.ts'

function category(category_id: number, parent_id: number | null, slug = `s${category_id}`): Category {
  return { category_id, parent_id, name: `Category ${category_id}`, slug }
}

const TOOLS = [
  category(1, null, 'tools'),
  category(2, 1, 'saws'),
  category(3, 2, 'hand'),
  category(4, 1, 'drills'),
  category(5, null, 'toys'),
]

test('a category has a path, descendants and children', () => {
  const tree = categoryTree(TOOLS)
  expect(tree.pathOf(3).map(({ name }) => name)).toEqual(['Category 1', 'Category 2', 'Category 3'])
  expect(tree.slugPathOf(3)).toBe('tools/saws/hand')
  expect([...tree.descendantsOf(1)].sort()).toEqual([1, 2, 3, 4])
  expect(tree.descendantsOf(5)).toEqual([5])
  expect(tree.childrenOf(1).map(({ category_id }) => category_id)).toEqual([2, 4])
  expect(tree.all.map(({ category_id }) => category_id)).toEqual([1, 4, 2, 3, 5])
  expect(tree.pathOf(9)).toEqual([])
  expect(tree.descendantsOf(9)).toEqual([])
  expect(tree.slugPathOf(9)).toBeUndefined()
})

test.each([
  ['3', 3],
  ['tools/saws', 2],
  ['tools', 1],
  ['saws', undefined],
  ['tools/saws/', undefined],
  ['9', undefined],
  ['', undefined],
  ['constructor', undefined],
])('the text %j resolves to the category %s', (text, id) => {
  expect(categoryTree(TOOLS).resolve(text)?.category_id).toBe(id)
})

test('a path that two categories share identifies the category with the lower id', () => {
  const tree = categoryTree([category(8, null, 'same'), category(6, null, 'same')])
  expect(tree.resolve('same')?.category_id).toBe(6)
})

test('a category whose parent is not known yet counts as a root', () => {
  const tree = categoryTree([category(2, 1, 'saws')])
  expect(tree.slugPathOf(2)).toBe('saws')
  expect(tree.childrenOf(1)).toEqual([])
})

test('categories can be read despite a cycle that two administrators made at the same time', () => {
  const tree = categoryTree([category(1, 2), category(2, 1), category(3, 2), category(4, 4)])
  for (const id of [1, 2, 4]) expect(tree.pathOf(id).map(({ category_id }) => category_id)).toEqual([id])
  expect(tree.pathOf(3).map(({ category_id }) => category_id)).toEqual([2, 3])
  expect(tree.descendantsOf(2)).toEqual([2, 3])
  expect(categoryFault(tree, category(1, null))).toBeUndefined()
})

test('a change that would put a category into a cycle, or leave it in one, is refused', () => {
  const tree = categoryTree([category(1, 2), category(2, 1), category(3, 2), category(4, null)])
  expect(categoryFault(tree, category(1, 3))).toBe('cycle')
  expect(categoryFault(tree, category(1, 2))).toBe('cycle')
  expect(categoryFault(tree, category(1, 4))).toBeUndefined()
  expect(categoryFault(tree, category(4, 3))).toBeUndefined()
})

test('whatever the parents are, no path contains a category twice, and every category on a path lists the end of the path as a descendant', () => {
  const parents = fc.array(fc.option(fc.integer({ min: 0, max: 12 }), { nil: null }), { maxLength: 12 })
  fc.assert(
    fc.property(parents, (list) => {
      const tree = categoryTree(list.map((parent, id) => category(id, parent)))
      for (const { category_id } of tree.all) {
        const path = tree.pathOf(category_id).map((above) => above.category_id)
        expect(new Set(path).size).toBe(path.length)
        for (const above of path) expect(tree.descendantsOf(above)).toContain(category_id)
        const below = tree.descendantsOf(category_id)
        expect(new Set(below).size).toBe(below.length)
      }
    }),
  )
})

test.each([
  [category(6, 99), 'unknown_parent'],
  [category(1, 1), 'cycle'],
  [category(1, 3), 'cycle'],
  [category(6, 1, 'saws'), 'slug_taken'],
  [category(6, null, 'toys'), 'slug_taken'],
  [category(2, 1, 'saws'), undefined],
  [category(2, 5, 'saws'), undefined],
  [category(6, 2, 'saws'), undefined],
] as const)('the result of checking the change %j is %s', (change, fault) => {
  expect(categoryFault(categoryTree(TOOLS), change)).toBe(fault)
})

test('a new category is refused if there are already 100,000, but the existing categories can still be changed', () => {
  const tree = categoryTree(Array.from({ length: 100_000 }, (_, index) => category(index + 1, null)))
  expect(categoryFault(tree, category(100_001, null))).toBe('too_many')
  expect(categoryFault(tree, category(100_000, 1))).toBeUndefined()
})

test('a path has at most 16 levels, even when a whole branch moves', () => {
  const chain = Array.from({ length: MOST_LEVELS }, (_, index) => category(index + 1, index === 0 ? null : index))
  const tree = categoryTree([...chain, category(50, null), category(51, 50), category(52, 51)])
  expect(categoryFault(tree, category(60, MOST_LEVELS))).toBe('too_deep')
  expect(categoryFault(tree, category(50, MOST_LEVELS - 3))).toBeUndefined()
  expect(categoryFault(tree, category(50, MOST_LEVELS - 2))).toBe('too_deep')
})
