import { expect, test } from 'vitest'
import type { TrendCandidate } from '../../../pipelines/trends/candidate.ts'
import { drawHash } from '../../../pipelines/trends/drawn-tweets.ts'
import { foldTopics } from '../../../pipelines/trends/fold.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import { rankCandidates } from './reports.ts'

/** Creates a candidate for a term whose tweets have these numbers. The 24 tweets with the smallest hashes are drawn. */
function candidate(term: string, tweets: readonly number[]): TrendCandidate {
  const count = tweets.length
  const ids = tweets.map((number) => 2n ** 60n + BigInt(number)).sort((a, b) => drawHash(a) - drawHash(b))
  return {
    term,
    name: `#${term}`,
    count,
    hour_ago: 0,
    day: count,
    baseline: NO_BASELINE,
    tracked: true,
    users: count,
    sample_tweets: [],
    lang: 'en',
    drawn: ids.slice(0, 24),
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

function folded(...candidates: TrendCandidate[]) {
  return foldTopics(rankCandidates(candidates, 1)).map(({ leader, variants, related }) => ({
    term: leader.details.term,
    variants: variants.map((each) => each.details.term),
    related: related.map((each) => each.details.term),
  }))
}

test('terms that share most of their tweets are one topic, and the best of these terms represents it', () => {
  expect(
    folded(candidate('b', range(0, 9)), candidate('a', range(0, 10)), candidate('c', range(2, 10)), candidate('d', range(50, 57))),
  ).toEqual([
    { term: 'a', variants: ['b', 'c'], related: [] },
    { term: 'd', variants: [], related: [] },
  ])
})

test('terms that share only half of the tweets of the more frequent term are related, but not one topic', () => {
  expect(folded(candidate('a', range(0, 16)), candidate('b', range(8, 16)))).toEqual([
    { term: 'a', variants: [], related: ['b'] },
    { term: 'b', variants: [], related: ['a'] },
  ])
  expect(folded(candidate('a', range(0, 15)), candidate('b', range(7, 15)))).toEqual([{ term: 'a', variants: ['b'], related: [] }])
})

test('terms with at most three common tweets are not folded, because these tweets may come from one user', () => {
  expect(folded(candidate('a', range(0, 3)), candidate('b', range(0, 3)))).toHaveLength(2)
  expect(folded(candidate('a', range(0, 4)), candidate('b', range(0, 4)))).toHaveLength(1)
})

test('a term joins the leader with the largest overlap, and variants do not attract further terms', () => {
  const chain = [candidate('a', range(0, 20)), candidate('b', range(6, 25)), candidate('c', range(13, 31))]
  // b shares 14 tweets with a, and c shares 12 with b, but only 7 with a.
  expect(folded(...chain)).toEqual([
    { term: 'a', variants: ['b'], related: ['c'] },
    { term: 'c', variants: [], related: ['a'] },
  ])
  const between = [candidate('a', range(0, 20)), candidate('b', range(12, 31)), candidate('c', range(9, 25))]
  expect(folded(...between)).toMatchObject([{ term: 'a' }, { term: 'b', variants: ['c'] }])
})

test('at most three related trends are named, the most similar first', () => {
  const others = [4, 5, 6, 7, 8].map((common) => candidate(`r${common}`, [...range(0, common), ...range(100 * common, 100 * common + 10)]))
  const [first] = folded(candidate('a', range(0, 24)), ...others)
  expect(first).toEqual({ term: 'a', variants: [], related: ['r8', 'r7', 'r6'] })
})

test('overlaps of frequent terms are estimated from the drawn tweets', () => {
  const overlapping = (common: number) => folded(candidate('a', range(0, 10_000)), candidate('b', range(10_000 - common, 18_000 - common)))
  expect(overlapping(7_600)).toHaveLength(1)
  expect(overlapping(2_500)).toHaveLength(2)
  expect(overlapping(0)).toEqual([
    { term: 'a', variants: [], related: [] },
    { term: 'b', variants: [], related: [] },
  ])
  // A rare term is not folded into a frequent term, even if all its tweets contain the frequent term.
  expect(folded(candidate('a', range(0, 10_000)), candidate('b', range(0, 100)))).toHaveLength(2)
})

test('the typical tweet is the drawn tweet with the most other terms', () => {
  const typical = (...candidates: TrendCandidate[]) => foldTopics(rankCandidates(candidates, 1)).map(({ typicalTweet }) => typicalTweet)
  const id = 2n ** 60n + 7n
  expect(typical(candidate('a', range(0, 20)), candidate('b', [7, 30, 31]), candidate('c', [7, 32, 33, 34]))).toEqual([id, id, id])
  expect(typical(candidate('a', []))).toEqual([null])
})

test('only the best hundred terms are folded', () => {
  const terms = Array.from({ length: 120 }, (_, i) => candidate(`t${String(i).padStart(3, '0')}`, range(0, 5)))
  const topics = folded(...terms)
  expect(topics).toHaveLength(21)
  expect(topics[0].variants).toHaveLength(99)
  expect(topics[1]).toEqual({ term: 't100', variants: [], related: [] })
})
