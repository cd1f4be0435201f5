import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addToTally, emptyTally, topOf } from '../../../../pipelines/links/clicks/tally.ts'

const PLACES = 8
const values = fc.stringMatching(/^[a-p]$/)
const batches = fc.array(fc.dictionary(values, fc.integer({ min: 1, max: 50 }), { maxKeys: 16 }), { maxLength: 30 })

function counted(list: readonly Record<string, number>[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const batch of list) for (const [value, count] of Object.entries(batch)) counts.set(value, (counts.get(value) ?? 0) + count)
  return counts
}

test('a count is never too small, and is too large by at most its stated error, which is at most the sum of all counts divided by the number of places', () => {
  fc.assert(
    fc.property(batches, (list) => {
      const tally = emptyTally()
      for (const batch of list) addToTally(tally, new Map(Object.entries(batch)), PLACES)
      const truth = counted(list)
      const sum = [...truth.values()].reduce((total, count) => total + count, 0)
      expect(tally.values.length).toBe(Math.min(PLACES, truth.size))
      expect(new Set(tally.values).size).toBe(tally.values.length)
      for (const { value, clicks, over } of topOf(tally, PLACES)) {
        const exact = truth.get(value) as number
        expect(clicks).toBeGreaterThanOrEqual(exact)
        expect(clicks - over).toBeLessThanOrEqual(exact)
        expect(over).toBeLessThanOrEqual(sum / PLACES)
      }
      for (const [value, exact] of truth) if (exact > sum / PLACES) expect(tally.values).toContain(value)
    }),
  )
})

test('if the tally has a place for each different value, counts are exact, regardless of how values are split into batches', () => {
  fc.assert(
    fc.property(batches, (list) => {
      const tally = emptyTally()
      for (const batch of list) addToTally(tally, new Map(Object.entries(batch)), 16)
      const expected = [...counted(list)].map(([value, clicks]) => ({ value, clicks, over: 0 }))
      expected.sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1))
      expect(topOf(tally, 16)).toEqual(expected)
    }),
  )
})

test('a batch that is so large that the values are looked up in an index is counted correctly', () => {
  const tally = emptyTally()
  const batch = new Map(Array.from({ length: 100 }, (_, i) => [`host-${i}`, i + 1]))
  addToTally(tally, batch, 256)
  addToTally(tally, batch, 256)
  expect(topOf(tally, 2)).toEqual([
    { value: 'host-99', clicks: 200, over: 0 },
    { value: 'host-98', clicks: 198, over: 0 },
  ])
})
