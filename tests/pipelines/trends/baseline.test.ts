import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isKnownAt, learn, newBaseline, usualAt } from '../../../pipelines/trends/baseline.ts'

const WEEK = 168
const START = 20_000

test('the usual count is unknown in the first week, and then averages the same hour of earlier weeks', () => {
  const baseline = newBaseline(START)
  learn(baseline, START, 40)
  expect(usualAt(baseline, START)).toBeUndefined()
  expect(usualAt(baseline, START + WEEK - 1)).toBeUndefined()
  expect(usualAt(baseline, START + WEEK)).toBe(40)
  learn(baseline, START + WEEK, 20)
  expect(usualAt(baseline, START + 2 * WEEK)).toBeCloseTo(0.3 * 20 + 0.7 * 40)
})

test('an observed hour without contributions is a baseline of zero', () => {
  const baseline = newBaseline(START)
  expect(usualAt(baseline, START + 5)).toBeUndefined()
  expect(usualAt(baseline, START + 5 + WEEK)).toBe(0)
})

test('hours before tracking began are not observed', () => {
  expect(isKnownAt(START, START + WEEK - 1)).toBe(false)
  expect(isKnownAt(START, START + WEEK)).toBe(true)
  expect(isKnownAt(0, START)).toBe(false)
})

test('means equal those computed from every hour, including silent ones', () => {
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
        if (mean === undefined) expect(usualAt(baseline, hour)).toBeUndefined()
        else expect(usualAt(baseline, hour)).toBeCloseTo(mean)
        if (count > 0) learn(baseline, hour, count)
        mean = mean === undefined ? count : 0.3 * count + 0.7 * mean
      })
    }),
  )
})
