import { expect, test } from 'vitest'
import { writeNumbers } from '../../../../api/recommendations/model/eight-bits.ts'

test('the greatest absolute value of a vector becomes the largest number, and the step restores the values', () => {
  const numbers = new Int8Array(5).fill(1)
  const step = writeNumbers(Float32Array.of(0.5, -2, 1), numbers, 1)
  expect(numbers).toEqual(Int8Array.of(1, 32, -127, 64, 1))
  expect(-127 * step).toBe(-2)
  expect(writeNumbers(Float32Array.of(0.5, -2), new Int16Array(2), 0, 32_767)).toBe(2 / 32_767)
})

test('a vector of zeros has the step 0', () => {
  const numbers = new Int8Array(2).fill(1)
  expect(writeNumbers(new Float32Array(2), numbers, 0)).toBe(0)
  expect(numbers).toEqual(new Int8Array(2))
})
