import { expect, test } from 'vitest'
import { within } from '../../../api/catalog/text.ts'

test.each([
  ['', 0, 3, true],
  ['a', 1, 1, true],
  ['ab', 3, 5, false],
  ['😀', 1, 1, true],
  ['😀', 2, 5, false],
  ['😀😀', 1, 1, false],
  ['😀😀😀', 1, 2, false],
])('the length of %j is between %i and %i code points: %s', (value, least, most, expected) => {
  expect(within(value, least, most)).toBe(expected)
})
