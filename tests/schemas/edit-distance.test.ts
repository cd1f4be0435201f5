import { expect, test } from 'vitest'
import { editDistance } from '../../schemas/edit-distance.ts'

test.each([
  ['', '', 0],
  ['abc', '', 3],
  ['', 'abc', 3],
  ['drill', 'drill', 0],
  ['dril', 'drill', 1],
  ['drrill', 'drill', 1],
  ['brill', 'drill', 1],
  ['drlil', 'drill', 1],
  ['ab', 'ba', 1],
  ['ca', 'abc', 3],
  ['kitten', 'sitting', 3],
])('the edit distance from %j to %j is %i', (from, to, edits) => {
  expect(editDistance(from, to)).toBe(edits)
})
