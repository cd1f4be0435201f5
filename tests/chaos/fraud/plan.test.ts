import { expect, test } from 'vitest'
import { APIS, drawPlan, FIELDS, FRAUD_FAULTS } from './plan.ts'

const options = { rate: 20, faults: FRAUD_FAULTS, prefix: 'p' }

test('the same seed always gives the same plan, and another seed gives a different plan', () => {
  expect(drawPlan(7, options)).toEqual(drawPlan(7, options))
  expect(drawPlan(7, options).faults).not.toEqual(drawPlan(8, options).faults)
})

test('a plan has each fault once', () => {
  const { faults } = drawPlan(3, options)
  expect(faults.map(({ kind }) => kind).toSorted()).toEqual(FRAUD_FAULTS.toSorted())
  for (const { api } of faults) expect(api).toBeLessThan(APIS)
})

test('payments have different ids, and a second request goes to another API', () => {
  const { payments } = drawPlan(3, options)
  expect(new Set(payments.map(({ id }) => id)).size).toBe(payments.length)
  for (const { apis } of payments) expect(apis[0]).not.toBe(apis[1])
  expect(new Set(payments.map(({ kind }) => kind)).size).toBe(5)
})

test('nearly every blocked entity pays after its block, and no entity is blocked twice', () => {
  const { payments, blocks } = drawPlan(3, options)
  expect(new Set(blocks.map(({ type }) => type))).toEqual(new Set(Object.keys(FIELDS)))
  const all = new Set(blocks.map(({ type, value }) => `${type} ${value}`))
  expect(all.size).toBe(blocks.length)
  const late = blocks.filter(({ atMs, type, value }) => payments.some((one) => one[FIELDS[type]] === value && one.atMs > atMs + 1_000))
  expect(late.length).toBeGreaterThan(blocks.length * 0.9)
})
