import { expect, test } from 'vitest'
import { noteTrending } from '../../../pipelines/trends/trending-since.ts'
import type { TrendingSince } from '../../../schemas/trends/types.ts'

const MINUTE = 60_000
const START = 1_000 * MINUTE

function note(known: TrendingSince, served: readonly string[], minute: number) {
  const { since, changed } = noteTrending(known, served, START + minute * MINUTE)
  return { since: Object.fromEntries([...since].map(([term, at]) => [term, (at - START) / MINUTE])), changed }
}

test('a term trends since it was first served, and an unchanged list need not be stored', () => {
  const known: TrendingSince = { terms: [] }
  expect(note(known, ['a'], 0)).toEqual({ since: { a: 0 }, changed: true })
  expect(note(known, ['a'], 1)).toEqual({ since: { a: 0 }, changed: false })
  expect(note(known, ['b', 'a'], 2)).toEqual({ since: { b: 2, a: 0 }, changed: true })
})

test('gaps of up to ten minutes do not count', () => {
  const known: TrendingSince = { terms: [] }
  note(known, ['a'], 0)
  expect(note(known, [], 1)).toEqual({ since: {}, changed: true })
  expect(note(known, [], 5)).toEqual({ since: {}, changed: false })
  expect(note(known, ['a'], 11)).toEqual({ since: { a: 0 }, changed: true })
  note(known, [], 12)
  expect(note(known, ['a'], 22.5)).toEqual({ since: { a: 22.5 }, changed: true })
})

test('a term that stays out of the list is forgotten', () => {
  const known: TrendingSince = { terms: [] }
  note(known, ['a', 'b'], 0)
  note(known, ['b'], 1)
  note(known, ['b'], 12)
  expect(known.terms.map(({ term }) => term)).toEqual(['b'])
})
