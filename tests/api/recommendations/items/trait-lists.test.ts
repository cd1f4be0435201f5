import { expect, test } from 'vitest'
import { NONE_LISTED, traitLists } from '../../../../api/recommendations/items/trait-lists.ts'
import { MAX_TRAITS, NO_TRAIT } from '../../../../api/recommendations/items/traits.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'

/** Number of lists. They fill more than one page. */
const LISTS = 15_000
const CHANGES = 30_000

test('each list keeps its own traits while lists grow, shrink and become empty', () => {
  const lists = traitLists()
  const random = seededRandom(4)
  const numbers = new Array<number>(LISTS).fill(NONE_LISTED)
  const expected = Array.from({ length: LISTS }, (): number[] => [])
  for (let change = 0; change < CHANGES; change++) {
    const which = integer(random, LISTS)
    const traits = Array.from({ length: integer(random, MAX_TRAITS + 1) }, () => 1 + integer(random, 2 ** 32 - 1))
    numbers[which] = lists.put(numbers[which], traits)
    expected[which] = traits
  }
  const found = numbers.map((list) => {
    const traits = Array.from({ length: MAX_TRAITS }, (_, place) => (list === NONE_LISTED ? NO_TRAIT : lists.at(list, place)))
    return traits.filter((trait) => trait !== NO_TRAIT)
  })
  expect(found).toEqual(expected)
})

test('an item without traits takes no space, and a list that gets shorter keeps its number', () => {
  const lists = traitLists()
  expect(lists.put(NONE_LISTED, [])).toBe(NONE_LISTED)
  const list = lists.put(NONE_LISTED, [5, 6])
  expect(lists.put(list, [7])).toBe(list)
  expect([0, 1, 2].map((place) => lists.at(list, place))).toEqual([7, NO_TRAIT, NO_TRAIT])
})
