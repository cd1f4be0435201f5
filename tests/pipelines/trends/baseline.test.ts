import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hourlyUsual, isKnownAt, learn, newBaseline, usualInHour, usualInWindow } from '../../../pipelines/trends/baseline.ts'

const DAY = 24
const WEEK = 7 * DAY
const START = 20_000
const HOUR_MINUTES = 60

test('after a week, the usual count is the weighted mean of the same hour in earlier weeks', () => {
  const baseline = newBaseline(START)
  learn(baseline, START, 40)
  expect(usualInHour(baseline, START + WEEK)).toBe(40)
  expect(usualInHour(baseline, START + WEEK + 1)).toBe(0)
  learn(baseline, START + WEEK, 20)
  expect(usualInHour(baseline, START + 2 * WEEK)).toBeCloseTo(0.3 * 20 + 0.7 * 40)
})

test('in the first week, the usual count is the mean of the same hour on earlier days', () => {
  const baseline = newBaseline(START)
  for (const [hour, count] of [
    [0, 40],
    [1, 7],
    [DAY, 10],
  ])
    learn(baseline, START + hour, count)
  expect(usualInHour(baseline, START + DAY)).toBe(40)
  expect(usualInHour(baseline, START + 2 * DAY)).toBe(25)
  expect(usualInHour(baseline, START + 3 * DAY)).toBeCloseTo(50 / 3)
  expect(usualInHour(baseline, START + 2 * DAY + 1)).toBe(3.5)
})

test('on the first day, the usual count is the mean of all observed hours that are final', () => {
  const baseline = newBaseline(START)
  learn(baseline, START, 40)
  expect([START + 2, START + 3, START + 4].map((hour) => usualInHour(baseline, hour))).toEqual([undefined, 40, 20])
  learn(baseline, START + 2, 11)
  expect(usualInHour(baseline, START + 4)).toBe(20)
  expect(usualInHour(baseline, START + 5)).toBe(17)
})

test('a term has a usual count three hours after tracking began, and never if it is not tracked', () => {
  expect(isKnownAt(START, START + 2)).toBe(false)
  expect(isKnownAt(START, START + 3)).toBe(true)
  expect(isKnownAt(0, START)).toBe(false)
})

test('within an hour, the usual count of the window moves from that of the previous hour to that of the current hour', () => {
  const baseline = newBaseline(START)
  learn(baseline, START, 60)
  learn(baseline, START + 1, 120)
  const at = (minute: number) => usualInWindow(hourlyUsual(baseline, minute)!, minute)
  const first = (START + WEEK + 1) * HOUR_MINUTES
  expect(at(first - 1)).toBe(60)
  expect(at(first)).toBe(61)
  expect(at(first + 29)).toBe(90)
  expect(at(first + 59)).toBe(120)
})

test('the minimum that is computed at the start of an hour is a lower bound of the usual count until the end of the next hour', () => {
  const counts = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 10 * DAY })
  fc.assert(
    fc.property(counts, fc.nat(2 * HOUR_MINUTES - 1), fc.nat(), (all, later, chosen) => {
      const hour = 3 + (chosen % all.length)
      const learned = (upTo: number) => {
        const baseline = newBaseline(START)
        all.forEach((count, i) => {
          if (i <= upTo && count > 0) learn(baseline, START + i, count)
        })
        return baseline
      }
      const first = (START + hour) * HOUR_MINUTES
      const { least } = hourlyUsual(learned(hour - 3), first)!
      const final = later < HOUR_MINUTES ? hour - 3 : hour - 2
      expect(usualInWindow(hourlyUsual(learned(final), first + later)!, first + later)).toBeGreaterThanOrEqual(least - 1e-9)
    }),
    { numRuns: 300 },
  )
})

test('the mean of an hour of the week equals the mean that is computed from every week, including silent weeks', () => {
  const weeks = fc.array(
    fc.integer({ min: 0, max: 3 }).map((count) => count * 10),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(weeks, fc.integer({ min: 0, max: WEEK - 1 }), (counts, offset) => {
      const baseline = newBaseline(START)
      let mean: number | undefined
      counts.forEach((count, week) => {
        const hour = START + offset + week * WEEK
        if (mean !== undefined) expect(usualInHour(baseline, hour)).toBeCloseTo(mean)
        if (count > 0) learn(baseline, hour, count)
        mean = mean === undefined ? count : 0.3 * count + 0.7 * mean
      })
    }),
  )
})
