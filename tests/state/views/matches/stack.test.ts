import { expect, test } from 'vitest'
import { basisOf, isFresh, nextRefillAt, parseStack, type Stack, stackFields } from '../../../../state/views/matches/stack.ts'
import { type UserState, viewerAt } from '../../../../state/views/matches/viewer.ts'

const NOW = 1_000_000
const BASIS = 'basis'
const stackOf = (ageMs: number): Stack => ({ builtAt: NOW - ageMs, basis: BASIS, candidates: [] })

test.each([
  [300_000, 50, false],
  [299_999, 50, true],
  [299_999, 5, true],
  [30_000, 4, false],
  [29_999, 4, true],
  [5_000, 0, false],
  [4_999, 0, true],
])('a stack that is %d ms old and has %d candidates left is valid: %s', (ageMs, left, isValid) => {
  expect(isFresh(stackOf(ageMs), left, BASIS, NOW)).toBe(isValid)
  expect(isFresh(stackOf(ageMs), left, 'another basis', NOW)).toBe(false)
})

test.each([
  [5, 300_000],
  [4, 30_000],
  [1, 30_000],
  [0, 5_000],
])('with %d candidates left, a feed request may search again %d ms after the previous search', (left, afterMs) => {
  expect(nextRefillAt(stackOf(0), left) - NOW).toBe(afterMs)
  expect([afterMs - 1, afterMs].map((ageMs) => isFresh(stackOf(ageMs), left, BASIS, NOW))).toEqual([true, false])
})

test('a stack that cannot be read counts as none, so that the next feed request searches again', () => {
  const { meta } = stackFields(stackOf(0))
  expect(parseStack({ meta })).toBeDefined()
  expect(parseStack({ meta: meta.slice(1) })).toBeUndefined()
})

const profile = {
  user_id: 'ann',
  birth_date: '1990-05-01',
  gender: 'f',
  seeking_gender: ['m'],
  min_age_pref: 18,
  max_age_pref: 99,
  max_dist_km: 50,
  display_name: 'Ann',
  bio: null,
} as unknown as UserState['profile']
const PLACE = { lat: 37.77, lon: -122.42 }

function basis(change: object = {}, place = PLACE): string {
  return basisOf(viewerAt({ profile: { ...profile, ...change }, self: undefined }, place))
}

test.each([
  { seeking_gender: [] },
  { gender: null },
  { min_age_pref: 30 },
  { max_age_pref: 40 },
  { max_dist_km: 51 },
  { birth_date: '1990-05-02' },
])('a stack becomes invalid when the viewer changes %j', (change) => {
  expect(basis(change)).not.toBe(basis())
})

test('a stack becomes invalid when the viewer moves to another cell, but not after a move within the cell or a new name', () => {
  expect(basis({}, { ...PLACE, lat: 37.78 })).not.toBe(basis())
  expect(basis({}, { ...PLACE, lat: 37.7699 })).toBe(basis())
  expect(basis({ display_name: 'Anna', bio: 'new' })).toBe(basis())
})
