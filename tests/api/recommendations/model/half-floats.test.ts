import { expect, test } from 'vitest'
import { isNoNumber, toFloats } from '../../../../api/recommendations/model/half-floats.ts'

test.each([
  [0x0000, 0],
  [0x8000, -0],
  [0x3c00, 1],
  [0xc000, -2],
  [0x3555, 0.333251953125],
  [0x7bff, 65_504],
  [0x0400, 2 ** -14],
  [0x0001, 2 ** -24],
  [0x83ff, -1_023 * 2 ** -24],
  [0x7c00, Number.NaN],
])('the half %i is %d', (bits, value) => {
  const out = new Float32Array(1)
  toFloats(Uint16Array.of(0, bits), 1, out)
  expect(out[0]).toBe(value)
})

test('infinities and NaN are not numbers', () => {
  expect([0x7c00, 0xfc00, 0x7e00].every(isNoNumber)).toBe(true)
  expect([0x0000, 0x8000, 0x7bff, 0x03ff].some(isNoNumber)).toBe(false)
})
