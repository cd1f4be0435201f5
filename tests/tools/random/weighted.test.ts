import { expect, test } from 'vitest'
import { seededRandom } from '../../../tools/random/random.ts'
import { weightedPick, zipfWeights } from '../../../tools/random/weighted.ts'

test('each index is drawn in proportion to its weight', () => {
  const weights = [5, 0, 1, 3, 1]
  const draw = weightedPick(weights)
  const random = seededRandom(7)
  const drawn = new Array(weights.length).fill(0)
  const draws = 100_000
  for (let i = 0; i < draws; i++) drawn[draw(random)]++
  for (const [index, weight] of weights.entries()) expect(Math.abs(drawn[index] / draws - weight / 10)).toBeLessThan(0.01)
  expect(drawn[1]).toBe(0)
})

test('the k-th weight is 1 / k^exponent', () => {
  expect(zipfWeights(3, 1)).toEqual([1, 1 / 2, 1 / 3])
})
