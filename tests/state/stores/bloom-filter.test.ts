import { expect, test } from 'vitest'
import { emptyFilter, filterAdd, filterHas, filterShape, hashItem } from '../../../state/stores/bloom-filter.ts'

function itemHash(number: number) {
  return hashItem(Buffer.from(`item-${number}`))
}

test('a filter has the size that theory predicts', () => {
  // At one per cent: 9.585 bits and 6.64 hashes per item.
  expect(filterShape(1_000, 0.01)).toEqual({ bits: 9_592, hashes: 7 })
  expect(filterShape(1, 0.999)).toEqual({ bits: 8, hashes: 1 })
})

test.each([
  [64, 0.01],
  [1_000, 0.01],
  [1_000, 0.2],
  [20_000, 0.001],
])('with %i items and an error rate of %f it finds all items and few others', (items, errorRate) => {
  const shape = filterShape(items, errorRate)
  const filter = emptyFilter(shape)
  for (let i = 0; i < items; i++) filterAdd(filter, shape.hashes, itemHash(i))
  for (let i = 0; i < items; i++) if (!filterHas(filter, shape.hashes, itemHash(i))) expect.fail(`item ${i} was forgotten`)
  const asked = 30_000
  let wrong = 0
  for (let i = items; i < items + asked; i++) if (filterHas(filter, shape.hashes, itemHash(i))) wrong++
  // The items are constant, so the result is not random. A third more than the error rate would mean a wrong formula.
  expect(wrong / asked).toBeLessThan(errorRate * 1.33)
  expect(wrong).toBeGreaterThan(0)
})

test('an empty filter contains nothing', () => {
  const shape = filterShape(100, 0.01)
  const filter = emptyFilter(shape)
  for (let i = 0; i < 1_000; i++) expect(filterHas(filter, shape.hashes, itemHash(i))).toBe(false)
})
