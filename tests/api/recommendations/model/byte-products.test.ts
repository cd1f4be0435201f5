import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import wabt from 'wabt'
import { ASSEMBLED, byteProducts } from '../../../../api/recommendations/model/byte-products.ts'
import { seededRandom } from '../../../../tools/random/random.ts'

const SOURCE = join(import.meta.dirname, '../../../../api/recommendations/model/byte-products.wat')
const MOST_NUMBER = 32_767

test('the assembled code is that of its source', async () => {
  const { parseWat } = await wabt()
  const module = parseWat('byte-products.wat', readFileSync(SOURCE, 'utf8'))
  // If the source has changed, put this value into byte-products.ts.
  expect(Buffer.from(module.toBinary({}).buffer).toString('base64')).toBe(ASSEMBLED)
  module.destroy()
})

test.each([32, 256, 512])('products of %i dimensions are exact, whichever of the vectors are asked for', (dimensions) => {
  const random = seededRandom(dimensions)
  const count = 37
  const { numbers, ask, of } = byteProducts(count, dimensions)
  for (let at = 0; at < numbers.length; at++) numbers[at] = Math.floor(random() * 256) - 128
  const query = Float32Array.from({ length: dimensions }, () => random() - 0.5)
  const step = ask(query)
  const rounded = query.map((value) => Math.round(value / step))
  expect(Math.max(...rounded.map(Math.abs))).toBe(MOST_NUMBER)
  const expected = Int32Array.from({ length: count }, (_, row) =>
    rounded.reduce((sum, value, at) => sum + value * numbers[row * dimensions + at], 0),
  )
  expect(of(0, count)).toEqual(expected)
  expect(of(5, 3)).toEqual(expected.slice(5, 8))
  expect(of(count, 0)).toHaveLength(0)
})

test('the largest numbers do not overflow', () => {
  const dimensions = 512
  const { numbers, ask, of } = byteProducts(1, dimensions)
  numbers.fill(-128)
  ask(new Float32Array(dimensions).fill(1))
  expect(of(0, 1)[0]).toBe(-128 * MOST_NUMBER * dimensions)
})

test('a query of zeros has products of zero', () => {
  const { numbers, ask, of } = byteProducts(2, 32)
  numbers.fill(9)
  expect(ask(new Float32Array(32))).toBe(0)
  expect(of(0, 2)).toEqual(Int32Array.of(0, 0))
})

test.each([16, 48, 544])('vectors of %i dimensions are refused', (dimensions) => {
  expect(() => byteProducts(1, dimensions)).toThrow(`vectors of ${dimensions} dimensions are not supported`)
})
