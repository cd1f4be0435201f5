import { expect, test } from 'vitest'
import { editDistance, nearestOf } from '../../../../schemas/fraud/rules/nearest.ts'

test.each([
  ['', '', 0],
  ['abc', 'abc', 0],
  ['abc', '', 3],
  ['', 'ab', 2],
  ['kitten', 'sitting', 3],
  ['amount', 'amonut', 1],
  ['ab', 'ba', 1],
])('from %j to %j it takes %i edits', (from, to, edits) => {
  expect(editDistance(from, to)).toBe(edits)
})

test('suggests the most similar name, and none if all differ much', () => {
  expect(nearestOf('amonut', ['account', 'amount', 'x'])).toBe('amount')
  expect(nearestOf('AMOUNT', ['amount'])).toBe('amount')
  expect(nearestOf('amonut', ['country'])).toBeUndefined()
  expect(nearestOf('a'.repeat(100), ['a'.repeat(100)])).toBeUndefined()
})
