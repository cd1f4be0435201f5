import { expect, test } from 'vitest'
import { traitOf, traitsOf } from '../../../../api/recommendations/items/traits.ts'

test('at most eight properties of an item are compared with preferences: its categories, and then its attributes in the order of their names', () => {
  const names = ['genres', ...Array.from('jihgfedcba')]
  const attributes = Object.fromEntries(names.map((name) => [name, 'x']))
  const traits = traitsOf({ category_path: 'Tools/Saws', attributes })
  const expected = [traitOf('category', 'Tools'), traitOf('category', 'Tools/Saws'), ...Array.from('abcdef', (name) => traitOf(name, 'x'))]
  expect(traits).toEqual(expected)
})
