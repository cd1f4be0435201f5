import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_TERMS_PER_USER, REMEMBERED_MINUTES, UserContributions, userContributions } from '../../../pipelines/trends/cap.ts'
import { MAX_PER_USER } from '../../../pipelines/trends/max-per-user.ts'
import { fingerprintOf } from '../../../pipelines/trends/term-fingerprint.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { regions } from '../../../schemas/trends/places/regions.ts'

/** WOEID of New York. */
const PLACE = 2459115

function counted(minutes: readonly number[]): number[] {
  const user = new UserContributions()
  return minutes.filter((minute) => user.admit(fingerprintOf('sandy'), minute, PLACE) !== undefined)
}

test("a user's fourth contribution within an hour does not count, but a contribution an hour after the first one does", () => {
  expect(counted([0, 10, 20, 30])).toEqual([0, 10, 20])
  expect(counted([0, 10, 20, 59, 60])).toEqual([0, 10, 20, 60])
})

test('the limit on the contributions of a user applies to each term separately', () => {
  const user = new UserContributions()
  for (let i = 0; i < MAX_PER_USER; i++) expect(user.admit(fingerprintOf('a'), 5, PLACE)).toBeDefined()
  expect(user.admit(fingerprintOf('a'), 5, PLACE)).toBeUndefined()
  expect(user.admit(fingerprintOf('b'), 5, PLACE)).toBeDefined()
})

test('a late contribution is also checked against contributions with later times', () => {
  expect(counted([50, 51, 110, 49])).toEqual([50, 51, 110, 49])
  expect(counted([50, 51, 52, 49])).toEqual([50, 51, 52])
  expect(counted([50, 51, 52, 0])).toEqual([50, 51, 52])
})

test('a contribution is accepted if and only if no period of sixty minutes would contain more than three contributions', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 60 }), (minutes) => {
      const user = new UserContributions()
      const accepted: number[] = []
      const fullest = (all: readonly number[]): number =>
        Math.max(...all.map((start) => all.filter((minute) => minute >= start && minute < start + 60).length))
      for (const minute of minutes) {
        const allowed = fullest([...accepted, minute]) <= MAX_PER_USER
        expect(user.admit(fingerprintOf('x'), minute, PLACE) !== undefined).toBe(allowed)
        if (allowed) accepted.push(minute)
      }
    }),
  )
})

test('forgetting contributions that no window can reach changes no decision', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 59 }), { maxLength: 80 }), (delays) => {
      const whole = new UserContributions()
      const pruned = new UserContributions()
      delays.forEach((delay, i) => {
        const minute = 1000 + i * 7 - delay
        expect(pruned.admit(fingerprintOf('x'), minute, PLACE)).toEqual(whole.admit(fingerprintOf('x'), minute, PLACE))
        pruned.forgetBefore(pruned.newest - REMEMBERED_MINUTES)
      })
    }),
  )
})

test('the terms of a user are forgotten when they have no recent contributions', () => {
  const user = new UserContributions()
  user.admit(fingerprintOf('a'), 10, PLACE)
  user.admit(fingerprintOf('b'), 90, PLACE)
  user.forgetBefore(50)
  expect([user.size, user.newest, user.hasRoomFor(fingerprintOf('b'))]).toEqual([1, 90, true])
  user.forgetBefore(91)
  expect([user.size, user.newest]).toEqual([0, -1])
})

test('repeats by a user who was in twenty places within a day are recognised in each place, even if the user was never silent for long', () => {
  const places = regions
    .filter(({ type }) => type === 'Town')
    .slice(0, 20)
    .map(({ woeid }) => woeid)
  const user = new UserContributions()
  for (const [hour, place] of places.entries()) {
    const minute = hour * 60
    user.admit(fingerprintOf('a'), minute, place)
    // A city, its country and the world are three levels.
    expect(user.admit(fingerprintOf('a'), minute + 1, place)).toContainEqual({
      earlier: minute,
      later: minute + 1,
      count: 1,
      levels: 0b111,
    })
    user.forgetBefore(user.newest - REMEMBERED_MINUTES)
    expect(user.size).toBe(1)
  }
  // Forgetting places does not change the places of any remembered contribution.
  expect(JSON.parse(JSON.stringify(user))).toEqual([
    places.slice(-3).flatMap((place, i) => [0, 1].map((more) => ({ minute: (17 + i) * 60 + more, place }))),
  ])
})

test('a user with the maximum number of remembered terms can contribute only to these terms', () => {
  const user = new UserContributions()
  for (let i = 0; i < MAX_TERMS_PER_USER; i++) {
    expect(user.hasRoomFor(fingerprintOf(`t${i}`))).toBe(true)
    user.admit(fingerprintOf(`t${i}`), i < 10 ? 0 : 5, PLACE)
  }
  expect(user.hasRoomFor(fingerprintOf('t0'))).toBe(true)
  expect(user.hasRoomFor(fingerprintOf('another'))).toBe(false)
  user.forgetBefore(1)
  expect(user.hasRoomFor(fingerprintOf('another'))).toBe(true)
})

test('contributions that were stored and read back lead to the same decisions', () => {
  const contribution = fc.record({ term: fc.integer({ min: 0, max: 5 }), minute: fc.integer({ min: 0, max: 90 }) })
  fc.assert(
    fc.property(fc.array(contribution, { maxLength: 40 }), fc.array(contribution, { maxLength: 10 }), (before, after) => {
      const user = new UserContributions()
      for (const { term, minute } of before) user.admit(fingerprintOf(`t${term}`), minute, PLACE)
      const codec = userContributions.open(0, new Map())
      const out = byteWriter()
      codec.encode(user, out)
      const stored = codec.decode(out.buffer, 0, out.length)
      expect([stored.size, stored.newest]).toEqual([user.size, user.newest])
      for (const { term, minute } of after)
        expect(stored.admit(fingerprintOf(`t${term}`), minute, PLACE)).toEqual(user.admit(fingerprintOf(`t${term}`), minute, PLACE))
    }),
  )
})

test('a hundred thousand similar terms have different fingerprints', () => {
  expect(new Set(Array.from({ length: 100_000 }, (_, i) => fingerprintOf(`t${i}`))).size).toBe(100_000)
})
