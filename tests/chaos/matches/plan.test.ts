import { expect, test } from 'vitest'
import { APIS, drawPlan, MATCH_FAULTS } from './plan.ts'

const USERS = 12
const options = { users: USERS, leavers: 2, faults: MATCH_FAULTS }

test('the same seed always gives the same plan, and another seed gives a different plan', () => {
  expect(drawPlan(7, options)).toEqual(drawPlan(7, options))
  expect(drawPlan(7, options).faults).not.toEqual(drawPlan(8, options).faults)
})

test('a plan has each fault once and one episode per pair', () => {
  const { faults, episodes } = drawPlan(3, options)
  expect(faults.map(({ kind }) => kind).toSorted()).toEqual(MATCH_FAULTS.toSorted())
  for (const { api } of faults) expect(api).toBeLessThan(APIS)
  const pairs = episodes.map(({ one, other }) => [one, other].toSorted((a, b) => a - b).join(' '))
  expect([pairs.length, new Set(pairs).size]).toEqual([(USERS * (USERS - 1)) / 2, pairs.length])
})

test('a hundred plans together contain every kind of episode', () => {
  const kinds = Array.from({ length: 100 }, (_, seed) => drawPlan(seed, options)).flatMap(({ episodes }) =>
    episodes.map(({ kind }) => kind),
  )
  expect(new Set(kinds).size).toBe(10)
})
