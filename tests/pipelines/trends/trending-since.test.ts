import { expect, test } from 'vitest'
import { noteTrending } from '../../../pipelines/trends/trending-since.ts'
import type { TrendingSince } from '../../../schemas/trends/types.ts'

const MINUTE = 60_000
const START = 1_000 * MINUTE

function note(known: TrendingSince, served: readonly string[], minute: number) {
  const { trends, changed } = noteTrending(
    known,
    served.map((term) => [term]),
    START + minute * MINUTE,
  )
  return { since: Object.fromEntries([...trends].map(([term, { since }]) => [term, (since - START) / MINUTE])), changed }
}

test('a term has been trending since it was first served, and an unchanged list is not stored', () => {
  const known: TrendingSince = { terms: [], earlier: [] }
  expect(note(known, ['a'], 0)).toEqual({ since: { a: 0 }, changed: true })
  expect(note(known, ['a'], 1)).toEqual({ since: { a: 0 }, changed: false })
  expect(note(known, ['b', 'a'], 2)).toEqual({ since: { b: 2, a: 0 }, changed: true })
})

test('gaps of up to ten minutes do not interrupt a trend', () => {
  const known: TrendingSince = { terms: [], earlier: [] }
  note(known, ['a'], 0)
  expect(note(known, [], 1)).toEqual({ since: {}, changed: true })
  expect(note(known, [], 5)).toEqual({ since: {}, changed: false })
  expect(note(known, ['a'], 11)).toEqual({ since: { a: 0 }, changed: true })
  note(known, [], 12)
  expect(note(known, ['a'], 22.5)).toEqual({ since: { a: 22.5 }, changed: true })
})

test('a term that has been out of the list for more than ten minutes is forgotten', () => {
  const known: TrendingSince = { terms: [], earlier: [] }
  note(known, ['a', 'b'], 0)
  note(known, ['b'], 1)
  note(known, ['b'], 12)
  expect(known.terms.map(({ term }) => term)).toEqual(['b'])
})

test('the peak is the best rank of a trend, even across a short gap, and starts again with the next trend', () => {
  const known: TrendingSince = { terms: [], earlier: [] }
  const peakOf = (served: readonly string[], minute: number) =>
    noteTrending(
      known,
      served.map((term) => [term]),
      START + minute * MINUTE,
    ).trends.get('a')?.peakRank
  expect(peakOf(['b', 'c', 'a'], 0)).toBe(3)
  expect(peakOf(['b', 'a'], 1)).toBe(2)
  expect(peakOf(['b', 'c', 'd', 'a'], 2)).toBe(2)
  expect(peakOf(['b'], 3)).toBeUndefined()
  expect(peakOf(['b', 'c', 'a'], 12)).toBe(2)
  expect(peakOf(['b'], 13)).toBeUndefined()
  expect(peakOf(['b', 'c', 'a'], 24)).toBe(3)
  expect(note(known, ['b', 'c', 'a'], 25).changed).toBe(false)
  expect(note(known, ['a'], 26).changed).toBe(true)
})

test('the peak of a trend that began before peaks were stored starts with its current rank', () => {
  const known: TrendingSince = { terms: [{ term: 'a', since: START, left_at: 0, peak_rank: 0 }], earlier: [] }
  const { trends, changed } = noteTrending(known, [['b'], ['a']], START + MINUTE)
  expect([trends.get('a'), changed]).toEqual([{ since: START, peakRank: 2 }, true])
})
