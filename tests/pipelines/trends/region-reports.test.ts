import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TrendCandidate } from '../../../pipelines/trends/candidate.ts'
import { Looks } from '../../../pipelines/trends/looks.ts'
import { type RegionReport, reportWriter } from '../../../pipelines/trends/region-report.ts'
import { SentDetails } from '../../../pipelines/trends/sent-details.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'
import { RENEWAL_MS } from '../../../pipelines/trends/time.ts'
import { reportsIn } from './reports.ts'

const REGION = 44418
/** Number of terms in each report. */
const TERMS = 4
const MEAN = 1
/**
 * Maximum number of stored reports: the report with the details of its terms, and the reports of the next 20 renewals.
 */
const MOST_ROWS = 21

function candidate(term: string, count: number): TrendCandidate {
  return {
    term,
    name: `#${term} ${count}`,
    count,
    hour_ago: 1,
    day: count,
    baseline: NO_BASELINE,
    tracked: false,
    users: 1,
    sample_tweets: [BigInt(count)],
    lang: 'en',
    drawn: [],
  }
}

/** Simulates a partition of the terms. It sends the details of its candidates in the same way as the second stage. */
function partition() {
  const writer = reportWriter()
  const sent = new SentDetails()
  const looks = new Looks()
  const numbers = new Map<string, number>()

  function numberOf(term: string): number {
    const number = numbers.get(term) ?? numbers.size
    numbers.set(term, number)
    return number
  }

  /** @param counts the current counts of all terms */
  function report(counts: ReadonlyMap<string, number>, windowEnd: number): RegionReport {
    const best = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, TERMS)
    const candidates = new Map<number, TrendCandidate>()
    const terms = best.map(([term, count]): number => {
      const number = numberOf(term)
      if (looks.has(number) && looks.countOf(number) === count && !sent.isDue(looks, number, windowEnd)) return number
      looks.set(number, { count, greatest: count, through: 0, tracked: false, usual: undefined, hasDrawn: true })
      candidates.set(number, candidate(term, count))
      return number
    })
    const head = { woeid: REGION, windowEnd, partition: 0, missing: 0, restNew: 0, restKnown: 0 }
    return sent.write({ terms, looks, candidates }, head, writer)
  }

  return { report }
}

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('count' as const), term: fc.nat(7), count: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 24, arbitrary: fc.record({ kind: fc.constant('report' as const), skipped: fc.nat(2), published: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart terms' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart lists' as const }) },
)

test('lists contain the newest details of every candidate, although reports contain only changed details', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 120 }), (steps) => {
      const rows = new Map<string, RegionReport>()
      const counts = new Map<string, number>()
      let terms = partition()
      let lists = reportsIn(rows)
      let windowEnd = 0
      for (const each of steps) {
        if (each.kind === 'count') counts.set(`t${each.term}`, each.count)
        else if (each.kind === 'restart terms') terms = partition()
        else if (each.kind === 'restart lists') lists = reportsIn(rows)
        else {
          windowEnd += (1 + each.skipped) * RENEWAL_MS
          lists.take(terms.report(counts, windowEnd))
          const expected = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, TERMS)
          const reports = lists.ofWindow(REGION, windowEnd)
          const found = lists.rank(reports, MEAN).map(({ count, details: { term, name } }) => [term, count, name])
          expect(found).toEqual(expected.map(([term, count]) => [term, count, `#${term} ${count}`]))
          // Some windows have no list.
          if (each.published) lists.published(reports)
          if (each.published) expect(rows.size).toBeLessThanOrEqual(MOST_ROWS)
        }
      }
    }),
  )
})

test('if one candidate never changes and the others always change, the store keeps fewer than eight reports with details of the others', () => {
  const rows = new Map<string, RegionReport>()
  const lists = reportsIn(rows)
  const terms = partition()
  const long = (number: number) => `t${number}`.padEnd(1_000, 'x')
  let most = 0
  for (let window = 1; window <= 40; window++) {
    const counts = new Map([1, 2, 3].map((number) => [long(number), 100 + window]))
    counts.set(long(4), 1)
    lists.take(terms.report(counts, window * RENEWAL_MS))
    const reports = lists.ofWindow(REGION, window * RENEWAL_MS)
    expect(lists.rank(reports, MEAN).map(({ details }) => details.term)).toEqual([1, 2, 3, 4].map(long))
    lists.published(reports)
    most = Math.max(
      most,
      [...rows.values()].reduce((sum, { start, end }) => sum + end - start, 0),
    )
  }
  // The details of the four terms take 8 KB, and each report contains the details of at least three terms.
  expect(most).toBeGreaterThan(12_000)
  expect(most).toBeLessThan(45_000)
})

test('an unchanged candidate is sent without its details, as a reference to the report that has them', () => {
  const terms = partition()
  const counts = new Map([['first', 3]])
  const whole = terms.report(counts, RENEWAL_MS)
  expect(whole.end - whole.detailsAt).toBeGreaterThan(20)
  const next = terms.report(counts, 2 * RENEWAL_MS)
  expect(next.end - next.detailsAt).toBe(0)
  expect(next.references).toEqual([{ windowEnd: RENEWAL_MS, id: whole.id }])
})

test('without transactions, if a new worker repeats a report, later reports of the lost worker lack the details that they refer to', () => {
  let unknown = 0
  const lists = reportsIn(new Map(), () => void unknown++)
  const lost = partition()
  lists.take(lost.report(new Map([['first', 3]]), RENEWAL_MS))
  const second = lost.report(new Map([['first', 3]]), 2 * RENEWAL_MS).copy()
  lists.take(partition().report(new Map([['other', 3]]), RENEWAL_MS))
  lists.take(second)
  expect(lists.rank(lists.ofWindow(REGION, 2 * RENEWAL_MS), MEAN)).toEqual([])
  expect(unknown).toBe(1)
})

test('reports of several partitions are ranked together, separately for each window', () => {
  const lists = reportsIn(new Map())
  const writer = reportWriter()
  const send = (number: number, windowEnd: number, ...terms: TrendCandidate[]) => {
    for (const each of terms) writer.addNew(each)
    lists.take(writer.finish({ woeid: REGION, windowEnd, partition: number, missing: number, restNew: number, restKnown: 0 }))
  }
  send(1, RENEWAL_MS, candidate('b', 5), candidate('d', 1))
  send(1, 2 * RENEWAL_MS, candidate('e', 9))
  send(0, RENEWAL_MS, candidate('a', 7), { ...candidate('c', 4), baseline: 2 })
  const reports = lists.ofWindow(REGION, RENEWAL_MS)
  expect(reports.map(({ missing, restNew }) => [missing, restNew]).sort()).toEqual([
    [0, 0],
    [1, 1],
  ])
  expect(lists.rank(reports, MEAN).map(({ details }) => details.term)).toEqual(['a', 'b', 'c', 'd'])
  lists.published(reports)
  expect(lists.ofWindow(REGION, 2 * RENEWAL_MS)).toHaveLength(1)
})
