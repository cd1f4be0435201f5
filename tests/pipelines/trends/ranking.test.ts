import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TrendCandidate } from '../../../pipelines/trends/candidate.ts'
import { foldTopics, type Topic } from '../../../pipelines/trends/fold.ts'
import { listWriter } from '../../../pipelines/trends/list-body.ts'
import { candidatesPerPartition, KEPT_TERMS } from '../../../pipelines/trends/ranking.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import { compileDecoder } from '../../../schemas/avro/decoder.ts'
import { trendOutput } from '../../../schemas/trends/topics.ts'
import type { TrendOutput } from '../../../schemas/trends/types.ts'
import { rankCandidates } from './reports.ts'

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

test('terms with and without a baseline are ranked together, and terms with equal scores are sorted by text', () => {
  const ranked = rankCandidates([candidate('usual', 100, 400), candidate('b', 8), candidate('a', 8), candidate('rising', 30, 3)], 2)
  expect(ranked.map(({ details: { term } }) => term)).toEqual(['rising', 'usual', 'a', 'b'])
  expect(ranked[0].score).toBe(30 * Math.log2(11))
  expect(ranked[2].score).toBe(8 * Math.log2(5))
})

test('terms with equal scores are ordered by text, in all scripts', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme-composite', minLength: 1 })), (terms) => {
      const ranked = rankCandidates(
        terms.map((term) => candidate(term, 1)),
        1,
      )
      expect(ranked.map(({ details }) => details.term)).toEqual([...terms].sort())
    }),
  )
  const units = ['\ue000', '\uffff', '😀', '\ud7ff', 'z', 'é', 'za']
  const ranked = rankCandidates(
    units.map((term) => candidate(term, 1)),
    1,
  )
  expect(ranked.map(({ details }) => details.term)).toEqual([...units].sort())
})

test('a list keeps the best 500 terms', () => {
  const many = Array.from({ length: 700 }, (_, i) => candidate(`t${i}`, i + 1))
  const ranked = rankCandidates(many, 1)
  expect(ranked).toHaveLength(KEPT_TERMS)
  expect(ranked.at(-1)?.count).toBe(201)
})

const decodeList = compileDecoder<TrendOutput>(trendOutput.value.schema!)

function listOf(
  topics: readonly Topic[],
  standing: { trendingSince: number; rankChange: number | null; peakRank: number | null },
  mayLabel: boolean,
): TrendOutput {
  const head = { woeid: 44418, windowEnd: 1_767_268_800_000, missing: 2, meanOfNewTerms: 1, mayLabel }
  const { buffer, length } = listWriter().write(head, topics, () => standing).bytes
  return decodeList(buffer, 0, length)
}

test('an entry has every field that a published list needs', () => {
  const [leader, variant, related] = rankCandidates([candidate('rising', 30, 3), candidate('variant', 3), candidate('related', 2)], 1)
  const term = { leader, variants: [variant], related: [related], typicalTweet: 8n }
  const standing = { trendingSince: 1_767_268_770_000, rankChange: -2, peakRank: 1 }
  const list = listOf([term], standing, true)
  expect(list).toEqual({
    woeid: 44418,
    window_end: 1_767_268_800_000,
    source: 'pipeline',
    missing_partitions: 2,
    entries: [
      {
        term: 'rising',
        name: '#rising',
        tweet_volume: 30,
        volume_24h: 35,
        velocity: 15,
        velocity_vs_usual: 10,
        score: 30 * Math.log2(11),
        label: 'Trending',
        trending_since: 1_767_268_770_000,
        sample_tweets: [9n],
        rank_change: -2,
        peak_rank: 1,
        lang: 'en',
        users: 20,
        variants: ['#variant'],
        related: ['#related'],
        typical_tweet: 8n,
      },
    ],
  })
  expect(listOf([term], standing, false).entries[0].label).toBeNull()
  expect(listOf([], standing, true).entries).toEqual([])
})

test('an entry may lack a language, samples, ranks and a typical tweet', () => {
  const ranked = rankCandidates([{ ...candidate('alone', 1), lang: '', sample_tweets: [] }], 1)
  const [entry] = listOf(foldTopics(ranked), { trendingSince: 7, rankChange: null, peakRank: null }, true).entries
  expect(entry).toMatchObject({
    lang: null,
    sample_tweets: [],
    rank_change: null,
    peak_rank: null,
    typical_tweet: null,
    variants: [],
    related: [],
  })
})

test('each of several partitions sends more than its share of the candidates, and a single partition sends all', () => {
  expect(candidatesPerPartition(1)).toBe(KEPT_TERMS)
  expect(candidatesPerPartition(4)).toBeLessThan(KEPT_TERMS / 2)
  expect(candidatesPerPartition(4)).toBeGreaterThan(KEPT_TERMS / 4)
  expect(candidatesPerPartition(1_000)).toBeGreaterThanOrEqual(30)
})
