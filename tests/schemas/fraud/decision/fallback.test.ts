import { expect, test } from 'vitest'
import { callersFallback } from '../../../../schemas/fraud/decision/fallback.ts'

test.each([
  [99.99, 91, 'APPROVE', false],
  [99.99, 90, 'APPROVE', true],
  [100, 91, 'APPROVE', true],
  [1_000, 91, 'APPROVE', true],
  [1_000.01, 91, 'REVIEW', false],
  [10, 6, 'REVIEW', false],
  [10, 7, 'APPROVE', true],
  [5_000, 6, 'REVIEW', false],
  [10, undefined, 'APPROVE', true],
  [5_000, undefined, 'REVIEW', false],
  [Number.NaN, 400, 'REVIEW', false],
] as const)(
  'for %f USD from an account with an age of %s days, the decision of the fallback is %s and its field monitor is %s',
  (amount, accountAgeDays, decision, monitor) => {
    expect(callersFallback({ amount, accountAgeDays })).toEqual({ decision, monitor })
  },
)
