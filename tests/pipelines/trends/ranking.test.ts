import { expect, test } from 'vitest'
import { addTotals, candidatesPerPartition, entryOf, KEPT_TERMS, meanOfNewTerms, rankTerms } from '../../../pipelines/trends/ranking.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import type { NewTermMoment, TrendCandidate } from '../../../schemas/trends/types.ts'

const MINUTE = 60_000

function candidate(term: string, count: number, baseline = NO_BASELINE): TrendCandidate {
  return { term, name: `#${term}`, count, hour_ago: 2, day: count + 5, baseline, tracked: false, sample_tweets: [9n] }
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
  const [term] = rankTerms([candidate('rising', 30, 3)], 1)
  expect(entryOf(term, 77)).toEqual({
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
  })
})

test('the mean of new terms is that of a minute ago, when all partitions had reported it', () => {
  const moments: NewTermMoment[] = []
  addTotals(moments, 1 * MINUTE, 30, 10)
  addTotals(moments, 1 * MINUTE, 10, 10)
  addTotals(moments, 2 * MINUTE, 100, 10)
  addTotals(moments, 2 * MINUTE, 100, 10)
  expect(meanOfNewTerms(moments, 2 * MINUTE)).toBe(2)
  expect(meanOfNewTerms(moments, 2.5 * MINUTE)).toBe(2)
  expect(meanOfNewTerms(moments, 3 * MINUTE)).toBe(10)
  addTotals(moments, 3 * MINUTE, 900, 1)
  expect(meanOfNewTerms(moments, 4 * MINUTE)).toBe(10)
  expect(meanOfNewTerms(moments, 1 * MINUTE)).toBe(0)
})

test('totals of old minutes are forgotten', () => {
  const moments: NewTermMoment[] = []
  for (let minute = 0; minute < 20; minute++) addTotals(moments, minute * MINUTE, 1, 1)
  expect(moments.length).toBeLessThan(10)
  expect(moments.at(-1)?.window_end).toBe(19 * MINUTE)
})

test('each of many partitions sends about its share of the candidates, and a single partition sends all', () => {
  expect(candidatesPerPartition(1)).toBe(KEPT_TERMS)
  expect(candidatesPerPartition(4)).toBeLessThan(KEPT_TERMS / 2)
  expect(candidatesPerPartition(4)).toBeGreaterThan(KEPT_TERMS / 4)
  expect(candidatesPerPartition(1_000)).toBeGreaterThanOrEqual(30)
})
