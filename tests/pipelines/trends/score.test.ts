import { expect, test } from 'vitest'
import { labelOf, trendScore, velocityOf, velocityVsUsual } from '../../../pipelines/trends/score.ts'

test('velocities have a divisor of at least one, whether they are relative to the usual count or to the count an hour ago', () => {
  expect(velocityVsUsual(12, 4)).toBe(3)
  expect(velocityVsUsual(12, 0.2)).toBe(12)
  expect(velocityOf(6, 3)).toBe(2)
  expect(velocityOf(6, 0)).toBe(6)
})

test('the score is the count times the binary logarithm of one plus the velocity', () => {
  expect(trendScore(8, 8)).toBe(8)
  expect(trendScore(24, 8)).toBe(48)
  expect(trendScore(0, 8)).toBe(0)
})

test('the label changes above the velocities 3 and 10, and needs 20 users', () => {
  const labels = [0, 3, 3.01, 10, 10.01].map((velocity) => labelOf(velocity, 20))
  expect(labels).toEqual([null, null, 'Trending', 'Trending', 'Viral'])
  expect(labelOf(100, 19)).toBeNull()
})
