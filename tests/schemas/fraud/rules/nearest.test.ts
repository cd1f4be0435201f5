import { expect, test } from 'vitest'
import { nearestOf } from '../../../../schemas/fraud/rules/nearest.ts'

test('the most similar name is suggested, or no name if none is similar enough', () => {
  expect(nearestOf('amonut', ['account', 'amount', 'x'])).toBe('amount')
  expect(nearestOf('AMOUNT', ['amount'])).toBe('amount')
  expect(nearestOf('amonut', ['country'])).toBeUndefined()
  expect(nearestOf('a'.repeat(100), ['a'.repeat(100)])).toBeUndefined()
})
