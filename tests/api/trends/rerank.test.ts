import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rerank } from '../../../api/trends/rerank.ts'

const term = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
const candidatesOf = fc
  .uniqueArray(fc.record({ term, score: fc.double({ min: 0, max: 1e6, noNaN: true }) }), { selector: ({ term }) => term })
  .map((list) => list.map((one) => ({ ...one, variants: [] })))
const profileOf = fc.record({
  topic_weights: fc.dictionary(term, fc.double({ min: 0, max: 100, noNaN: true })),
  exclude_topics: fc.array(term),
  updated_at: fc.constant(1),
})

test('muted topics are skipped, and the other topics are ordered by score × weight (default 0.5), best first, up to the limit', () => {
  fc.assert(
    fc.property(candidatesOf, profileOf, fc.integer({ min: 1, max: 30 }), (candidates, profile, limit) => {
      const expected = candidates
        .filter((candidate) => !profile.exclude_topics.includes(candidate.term))
        .map((candidate, index) => ({ candidate, index, score: candidate.score * (profile.topic_weights[candidate.term] ?? 0.5) }))
        .sort((one, other) => other.score - one.score || one.index - other.index)
        .slice(0, limit)
      expect(rerank(candidates, profile, limit)).toEqual(expected.map(({ candidate }) => candidate))
    }),
  )
})

test.each([
  [0.49, ['a', 'b']],
  [0.5, ['a', 'b']],
  [0.51, ['b', 'a']],
])('topics without a weight have a weight of exactly 0.5 beside a topic with the weight %d', (weight, order) => {
  const candidates = ['a', 'b'].map((name) => ({ term: name, score: 10, variants: [] }))
  const rerankedWith = (topic_weights: Record<string, number>) =>
    rerank(candidates, { topic_weights, exclude_topics: [], updated_at: 1 }, 30).map(({ term }) => term)
  expect(rerankedWith({ b: weight })).toEqual(order)
  expect(rerankedWith({ a: 1 - weight })).toEqual(order)
})

test('topics are matched in the same way as terms, regardless of case, character width and #', () => {
  const candidates = ['cafe', 'tea', 'water'].map((name) => ({ term: name, score: 10, variants: [] }))
  const profile = { topic_weights: { '＃ＴＥＡ': 2 }, exclude_topics: ['#Water'], updated_at: 1 }
  expect(rerank(candidates, profile, 30).map((candidate) => candidate.term)).toEqual(['tea', 'cafe'])
})

test('a muted variant hides its trend, and the highest weight of the variants counts unless the term has a weight', () => {
  const candidates = ['a', 'b', 'c', 'd'].map((name) => ({ term: name, score: 10, variants: [`${name}1`, `${name}2`] }))
  const profile = { topic_weights: { '#B1': 1, b2: 3, d1: 9, d: 2 }, exclude_topics: ['#A2'], updated_at: 1 }
  expect(rerank(candidates, profile, 30).map((candidate) => candidate.term)).toEqual(['b', 'd', 'c'])
})
