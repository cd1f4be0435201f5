import { expect, test } from 'vitest'
import type { TrendCandidate } from '../../../pipelines/trends/candidate.ts'
import { historyAfter, mayLabel, meanOfNewTerms } from '../../../pipelines/trends/region-history.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import type { RegionHistory } from '../../../schemas/trends/types.ts'
import { rankCandidates } from './reports.ts'

const MINUTE = 60_000

function ranked(...counts: number[]) {
  return rankCandidates(
    counts.map((count, i) => candidate(`t${i}`, count)),
    1,
  )
}

function candidate(term: string, count: number, baseline = NO_BASELINE): TrendCandidate {
  return { term, name: term, count, hour_ago: 0, day: count, baseline, tracked: false, users: 1, sample_tweets: [], lang: '', drawn: [] }
}

function historyOf(lists: readonly [minute: number, ...counts: number[]][]): RegionHistory | undefined {
  let history: RegionHistory | undefined
  for (const [minute, ...counts] of lists) history = historyAfter(history, ranked(...counts), minute * MINUTE) ?? history
  return history
}

test('the mean of new terms comes from the latest list that is at least a minute old', () => {
  expect(meanOfNewTerms(undefined, MINUTE)).toBe(0)
  expect(meanOfNewTerms(historyOf([[1, 5, 3]]), 1.5 * MINUTE)).toBe(0)
  expect(meanOfNewTerms(historyOf([[1, 5, 3]]), 2 * MINUTE)).toBe(4)
  const halves = historyOf([
    [1, 5, 3],
    [1.5, 10],
    [2, 20],
  ])
  expect(meanOfNewTerms(halves, 2.5 * MINUTE)).toBe(10)
  expect(meanOfNewTerms(halves, 90 * MINUTE)).toBe(20)
})

test('terms with a baseline do not count in the mean', () => {
  const history = historyAfter(undefined, rankCandidates([candidate('usual', 100, 20), candidate('new', 4)], 1), MINUTE)
  expect(meanOfNewTerms(history, 2 * MINUTE)).toBe(4)
})

test('an empty list clears the mean, and further empty lists are not stored', () => {
  const emptied = historyOf([[1, 5], [1.5], [2]])
  expect(meanOfNewTerms(emptied, 3 * MINUTE)).toBe(0)
  expect(historyAfter(emptied, [], 3 * MINUTE)).toBeUndefined()
  expect(historyAfter(undefined, [], MINUTE)).toBeUndefined()
})

test('a region labels terms two hours after its first list with terms', () => {
  const history = historyOf([[1], [2, 5], [3, 5]])
  expect(mayLabel(undefined, 500 * MINUTE)).toBe(false)
  expect(mayLabel(history, 121.5 * MINUTE)).toBe(false)
  expect(mayLabel(history, 122 * MINUTE)).toBe(true)
})
