import { expect, test } from 'vitest'
import { addTotals, candidatesPerPartition, entryOf, KEPT_TERMS, meanOfNewTerms, rankTerms } from '../../../pipelines/trends/ranking.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import type { NewTermMoment, TrendCandidate } from '../../../schemas/trends/types.ts'

const MINUTE = 60_000

function candidate(term: string, count: number, baseline = NO_BASELINE): TrendCandidate {
  return { term, name: `#${term}`, count, hour_ago: 2, day: count + 5, baseline, tracked: false, sample_tweets: [9n] }
}

test('terms with and without baseline are ranked together, and ties by term', () => {
  const ranked = rankTerms([candidate('usual', 100, 400), candidate('b', 8), candidate('a', 8), candidate('rising', 30, 3)], 2)
  expect(ranked.map(({ candidate: { term } }) => term)).toEqual(['rising', 'usual', 'a', 'b'])
  expect(ranked[0]).toMatchObject({ velocityVsUsual: 10, score: 30 * Math.log2(11) })
  expect(ranked[2]).toMatchObject({ velocityVsUsual: 4 })
})

test('keeps at most 500', () => {
  const many = Array.from({ length: 700 }, (_, i) => candidate(`t${i}`, i + 1))
  const ranked = rankTerms(many, 1)
  expect(ranked).toHaveLength(KEPT_TERMS)
  expect(ranked.at(-1)?.candidate.count).toBe(201)
})

test('an entry has the fields of a list', () => {
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

test('uses the mean of a minute ago, once all partitions have reported', () => {
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

test('old moments are forgotten', () => {
  const moments: NewTermMoment[] = []
  for (let minute = 0; minute < 20; minute++) addTotals(moments, minute * MINUTE, 1, 1)
  expect(moments.length).toBeLessThan(10)
  expect(moments.at(-1)?.window_end).toBe(19 * MINUTE)
})

test('partitions send enough candidates: all of a single partition, and about a share of many', () => {
  expect(candidatesPerPartition(1)).toBe(KEPT_TERMS)
  expect(candidatesPerPartition(4)).toBeLessThan(KEPT_TERMS / 2)
  expect(candidatesPerPartition(4)).toBeGreaterThan(KEPT_TERMS / 4)
  expect(candidatesPerPartition(1_000)).toBeGreaterThanOrEqual(30)
})
