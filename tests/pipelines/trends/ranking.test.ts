import { expect, test } from 'vitest'
import { entryOf } from '../../../pipelines/trends/entry.ts'
import { candidatesPerPartition, KEPT_TERMS, rankTerms } from '../../../pipelines/trends/ranking.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import type { TrendCandidate } from '../../../schemas/trends/types.ts'

function candidate(term: string, count: number, baseline = NO_BASELINE): TrendCandidate {
  return {
    term,
    name: `#${term}`,
    count,
    hour_ago: 2,
    day: count + 5,
    baseline,
    tracked: false,
    users: 20,
    sample_tweets: [9n],
    lang: 'en',
    drawn: [],
  }
}

test('ranks terms with and without a baseline together, and breaks ties by term', () => {
  const ranked = rankTerms([candidate('usual', 100, 400), candidate('b', 8), candidate('a', 8), candidate('rising', 30, 3)], 2)
  expect(ranked.map(({ candidate: { term } }) => term)).toEqual(['rising', 'usual', 'a', 'b'])
  expect(ranked[0]).toMatchObject({ velocityVsUsual: 10, score: 30 * Math.log2(11) })
  expect(ranked[2]).toMatchObject({ velocityVsUsual: 4 })
})

test('a list keeps the best 500 terms', () => {
  const many = Array.from({ length: 700 }, (_, i) => candidate(`t${i}`, i + 1))
  const ranked = rankTerms(many, 1)
  expect(ranked).toHaveLength(KEPT_TERMS)
  expect(ranked.at(-1)?.candidate.count).toBe(201)
})

test('an entry has every field that a published list needs', () => {
  const [leader, variant, related] = rankTerms([candidate('rising', 30, 3), candidate('variant', 3), candidate('related', 2)], 1)
  const term = { leader, variants: [variant], related: [related], typicalTweet: 8n }
  const standing = { trendingSince: 77, rankChange: -2, peakRank: 1 }
  expect(entryOf(term, standing, true)).toEqual({
    term: 'rising',
    name: '#rising',
    tweet_volume: 30,
    volume_24h: 35,
    velocity: 15,
    velocity_vs_usual: 10,
    score: 30 * Math.log2(11),
    label: 'Trending',
    trending_since: 77,
    sample_tweets: [9n],
    rank_change: -2,
    peak_rank: 1,
    lang: 'en',
    users: 20,
    variants: ['#variant'],
    related: ['#related'],
    typical_tweet: 8n,
  })
  expect(entryOf(term, standing, false).label).toBeNull()
})

test('each of many partitions sends about its share of the candidates, and a single partition sends all', () => {
  expect(candidatesPerPartition(1)).toBe(KEPT_TERMS)
  expect(candidatesPerPartition(4)).toBeLessThan(KEPT_TERMS / 2)
  expect(candidatesPerPartition(4)).toBeGreaterThan(KEPT_TERMS / 4)
  expect(candidatesPerPartition(1_000)).toBeGreaterThanOrEqual(30)
})
