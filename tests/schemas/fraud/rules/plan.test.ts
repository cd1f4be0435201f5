import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { type FactsByName, factsOf } from '../../../../schemas/fraud/rules/facts.ts'
import { formatCondition } from '../../../../schemas/fraud/rules/format.ts'
import { MAX_CONDITION_CHARACTERS } from '../../../../schemas/fraud/rules/parse.ts'
import { planOf } from '../../../../schemas/fraud/rules/plan.ts'
import { conditions, facts, TEST_LISTS } from './conditions.ts'

const RUNS = 5_000

function compiled(text: string) {
  const result = compileCondition(text)
  if (!result.ok) throw new Error(result.faults[0].message)
  return result.condition
}

function planned(text: string, values: FactsByName) {
  const plan = planOf([compiled('txn.amount > 1').node, compiled(text).node])
  plan.begin(factsOf(values), TEST_LISTS)
  return plan.evaluate(1)
}

test('a plan of several conditions gives the same results as the separate conditions', () => {
  const seen = new Set<unknown>()
  fc.assert(
    fc.property(fc.array(conditions, { minLength: 1, maxLength: 4 }), fc.array(facts, { minLength: 1, maxLength: 2 }), (nodes, rows) => {
      const texts = nodes.map(formatCondition)
      fc.pre(texts.every((text) => text.length <= MAX_CONDITION_CHARACTERS))
      const all = texts.map(compiled)
      const plan = planOf(all.map(({ node }) => node))
      for (const row of rows.map(factsOf)) {
        plan.begin(row, TEST_LISTS)
        for (const [position, { evaluate }] of all.entries()) {
          const expected = evaluate(row, TEST_LISTS)
          seen.add(expected)
          expect(plan.evaluate(position), texts[position]).toBe(expected)
        }
      }
    }),
    { numRuns: RUNS },
  )
  expect(seen).toEqual(new Set([true, false, undefined]))
})

test.each([
  ['txn.amount > 10', 10, false],
  ['txn.amount > 10', 10.000000000000002, true],
  ['txn.amount > 0', 0, false],
  ['txn.amount > 0', Number.MIN_VALUE, true],
  ['txn.amount < 0', 0, false],
  ['txn.amount > -1', -1, false],
  ['txn.amount > -1', -0.9999999999999999, true],
  ['txn.amount < 10', 10, false],
  ['txn.amount < 10', 9.999999999999998, true],
  ['txn.amount >= 10', 9.999999999999998, false],
  ['txn.amount <= 10', 10, true],
  ['txn.amount = 10', 11, false],
  ['txn.amount BETWEEN 5 AND 10', 11, false],
  ['txn.amount BETWEEN 5 AND 10', 5, true],
  ['txn.amount NOT BETWEEN 5 AND 10', 5, false],
  ["txn.currency = 'EUR' AND txn.amount > 1", 1, false],
  ["txn.currency != 'EUR' OR txn.amount > 1", 2, true],
])('%s with the amount %f is %s', (text, amount, expected) => {
  expect(planned(text, { 'txn.amount': amount, 'txn.currency': 'EUR' })).toBe(expected)
})

test('in a plan, a comparison of two strings is false if the strings differ, true if they are equal, and missing if one of them is missing', () => {
  const text = "payee.merchant_category = 'books' AND txn.amount > 1"
  expect(planned(text, { 'txn.amount': 2, 'payee.merchant_category': 'travel' })).toBe(false)
  expect(planned(text, { 'txn.amount': 2, 'payee.merchant_category': 'books' })).toBe(true)
  expect(planned(text, { 'txn.amount': 2 })).toBe(undefined)
})
