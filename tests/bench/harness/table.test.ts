import { expect, test } from 'vitest'
import { median, quantile, row } from '../../../bench/harness/table.ts'

test('the median is the middle value, or the mean of the two middle ones', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2.5)
})

test('a quantile is one of the measured values, or NaN if there are none', () => {
  const sorted = Array.from({ length: 100 }, (_, index) => index + 1)
  expect([0, 0.5, 0.99, 1].map((share) => quantile(sorted, share))).toEqual([1, 51, 100, 100])
  expect(quantile([], 0.5)).toBeNaN()
})

test('a row is formatted as Markdown', () => {
  expect(row(['a', 1])).toBe('| a | 1 |')
})
