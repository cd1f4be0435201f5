import { expect, test } from 'vitest'
import { nearRows } from '../../../../api/recommendations/model/near-rows.ts'

test('the rows with the highest values come first, and rows with equal values are in the order of their keys', () => {
  const keys = [7, 5, 3, 9, 1]
  const found = nearRows(Float64Array.of(2, 4, 2, 1, 4), 4, (at) => keys[at])
  expect(found).toEqual([
    { key: 1, value: 4 },
    { key: 5, value: 4 },
    { key: 3, value: 2 },
    { key: 7, value: 2 },
  ])
})

test('of thousands of rows with the lowest value, only a few are considered', () => {
  const asked: number[] = []
  const values = new Float64Array(5_000)
  values[4_000] = 1
  const found = nearRows(values, 3, (at) => {
    asked.push(at)
    return at
  })
  expect(found.map(({ key }) => key)).toEqual([4_000, 0, 1])
  expect(asked).toHaveLength(4)
})

test('all rows are found if there are fewer than requested', () => {
  expect(nearRows(Float64Array.of(-1, 0), 5, (at) => at).map(({ key }) => key)).toEqual([1, 0])
  expect(nearRows(new Float64Array(), 5, (at) => at)).toEqual([])
})
