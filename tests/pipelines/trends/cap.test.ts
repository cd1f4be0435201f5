import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  admit,
  forgetBefore,
  hasRoomFor,
  MAX_PER_USER,
  MAX_TERMS_PER_USER,
  newestContribution,
  REMEMBERED_MINUTES,
} from '../../../pipelines/trends/cap.ts'
import type { UserContributions } from '../../../schemas/trends/types.ts'

function nobody(): UserContributions {
  return { terms: [] }
}

function counted(minutes: readonly number[]): number[] {
  const user = nobody()
  return minutes.filter((minute) => admit(user, 'sandy', minute))
}

test('the fourth contribution within an hour does not count, and one an hour after the first does', () => {
  expect(counted([0, 10, 20, 30])).toEqual([0, 10, 20])
  expect(counted([0, 10, 20, 59, 60])).toEqual([0, 10, 20, 60])
})

test('terms are capped separately', () => {
  const user = nobody()
  for (let i = 0; i < MAX_PER_USER; i++) expect(admit(user, 'a', 5)).toBe(true)
  expect(admit(user, 'a', 5)).toBe(false)
  expect(admit(user, 'b', 5)).toBe(true)
})

test('a late contribution is checked against later ones as well', () => {
  expect(counted([50, 51, 110, 49])).toEqual([50, 51, 110, 49])
  expect(counted([50, 51, 52, 49])).toEqual([50, 51, 52])
  expect(counted([50, 51, 52, 0])).toEqual([50, 51, 52])
})

test('accepts a contribution exactly if no sixty minutes would contain more than three', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 60 }), (minutes) => {
      const user = nobody()
      const accepted: number[] = []
      const fullest = (all: readonly number[]): number =>
        Math.max(...all.map((start) => all.filter((minute) => minute >= start && minute < start + 60).length))
      for (const minute of minutes) {
        const allowed = fullest([...accepted, minute]) <= MAX_PER_USER
        expect(admit(user, 'x', minute)).toBe(allowed)
        if (allowed) accepted.push(minute)
      }
    }),
  )
})

test('forgetting contributions that no window can reach changes no decision', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 59 }), { maxLength: 80 }), (delays) => {
      const whole = nobody()
      const pruned = nobody()
      delays.forEach((delay, i) => {
        const minute = 1000 + i * 7 - delay
        expect(admit(pruned, 'x', minute)).toBe(admit(whole, 'x', minute))
        forgetBefore(pruned, newestContribution(pruned) - REMEMBERED_MINUTES)
      })
    }),
  )
})

test('a user without recent contributions has no terms', () => {
  const user = nobody()
  admit(user, 'a', 10)
  admit(user, 'b', 90)
  forgetBefore(user, 50)
  expect(user.terms).toEqual([{ term: 'b', minutes: [90] }])
  forgetBefore(user, 91)
  expect(user.terms).toEqual([])
})

test('a user with the maximum number of remembered terms can add only to those', () => {
  const user = nobody()
  for (let i = 0; i < MAX_TERMS_PER_USER; i++) {
    expect(hasRoomFor(user, `t${i}`)).toBe(true)
    admit(user, `t${i}`, i < 10 ? 0 : 5)
  }
  expect(hasRoomFor(user, 't0')).toBe(true)
  expect(hasRoomFor(user, 'another')).toBe(false)
  forgetBefore(user, 1)
  expect(hasRoomFor(user, 'another')).toBe(true)
})
