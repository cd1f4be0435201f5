import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KeyedStore, KeyRange } from '../../../pipelines/engine/index.ts'
import { CellCounts, packContribution, packedCells } from '../../../pipelines/trends/packed-cells.ts'
import { RareTerm, stateIn } from '../../../pipelines/trends/rare-terms.ts'
import { savedStandings } from '../../../pipelines/trends/saved-standings.ts'
import { standings } from '../../../pipelines/trends/standings.ts'
import type { StoredTerms } from '../../../pipelines/trends/stored-terms.ts'
import { TextBytes } from '../../../pipelines/trends/term-table.ts'
import { RENEWAL_MS } from '../../../pipelines/trends/time.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import type { SavedStandings } from '../../../schemas/trends/types.ts'
import { reportsIn } from './reports.ts'

const NOW = 30_000_000
/** WOEIDs of New York and London. */
const PLACES = [2459115, 44418]
/** Number of contenders per region. It is so small that floors rise and all terms of a region must be visited again. */
const PER_REGION = 4
/** Number of terms that a ranking visits while regions are refilled, so that a refill takes several rankings. */
const TERMS_PER_RANKING = 20

interface RegionStanding {
  readonly woeid: number
  readonly terms: readonly unknown[]
}

const step = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({ kind: fc.constant('count' as const), term: fc.nat(60), place: fc.constantFrom(...PLACES), delay: fc.nat(20) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('rank' as const), minutes: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'commit' as const }) },
)

/** Creates a store whose rows survive until a later worker opens it. */
function memoryStore(rows: Map<string, SavedStandings>): KeyedStore<string, SavedStandings> {
  const store = {
    get: (key: string) => rows.get(key),
    put: (key: string, row: SavedStandings) => void rows.set(key, structuredClone(row)),
    delete: (key: string) => void rows.delete(key),
    scan: ({ prefix }: KeyRange<string>) =>
      [...rows].filter(([key]) => key.startsWith(String(prefix))).sort(([a], [b]) => (a < b ? -1 : 1)),
  }
  return store as unknown as KeyedStore<string, SavedStandings>
}

function worker(terms: ReadonlyMap<string, string>, rows: Map<string, SavedStandings>, perRegion = PER_REGION) {
  /**
   * `all` counts the visits to the stored terms. `awaited` counts only the visits for which a ranking had to wait, and
   * not those of refills.
   */
  const visits = { all: 0, awaited: 0 }
  let isVisited = false
  const statesOf: StoredTerms['statesOf'] = (woeid, names) => names.map((name) => stateIn(new RareTerm(0, terms.get(name) ?? ''), woeid))
  const stored: StoredTerms = {
    statesOf,
    found: statesOf,
    rare(from = '') {
      visits.all++
      isVisited = true
      const names = [...terms.keys()].filter((term) => term >= from).sort()
      return names.map((term): [string, RareTerm] => [term, new RareTerm(0, terms.get(term)!)])
    },
    frequent: () => [],
  }
  const saved = savedStandings(memoryStore(rows))
  const leaders = standings({
    terms: stored,
    usualOf: () => undefined,
    prefetchUsual() {},
    perRegion,
    drawnPerRegion: perRegion,
    saved,
    termsPerRanking: TERMS_PER_RANKING,
  })
  const reports = reportsIn(new Map())
  let rankings = 0
  function rank(minute: number): RegionStanding[] {
    const found: RegionStanding[] = []
    const ranking = { windowEnd: ++rankings * RENEWAL_MS, partition: 0, missing: 0 }
    for (const _ of leaders.prepare(minute, () => {}));
    isVisited = false
    for (const _ of leaders.rank(ranking, (report) => {
      if (isVisited) visits.awaited++
      isVisited = false
      reports.take(report)
      const terms = reports
        .rank([report], 1)
        .map(({ count, details: { term, name, hourAgo, day } }) => ({ term, name, count, hourAgo, day }))
      found.push({ woeid: report.woeid, terms })
      reports.published([report])
    }));
    return found.sort((a, b) => a.woeid - b.woeid)
  }
  return { visits, saved, leaders, rank }
}

function countsOf(cells: string): CellCounts {
  return new CellCounts().readRow(cells)
}

function contribution(place: number, minute: number): string {
  const out = byteWriter()
  const tweet = { tweet_id: 1n, user_id: 1n, created_at: 0, lang: 0 }
  packContribution({ place, original: { buffer: Buffer.from('x'), start: 0, end: 1 }, minute, tweet, repeats: [] }, out)
  return packedCells(out.buffer, 0, out.length)
}

test('a worker that starts continues with the saved standings, and visits all terms only if the previous worker would also have had to do so', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
      const terms = new Map<string, string>()
      const rows = new Map<string, SavedStandings>()
      const first = worker(terms, rows)
      let minute = NOW
      first.rank(minute)
      for (const each of steps) {
        if (each.kind === 'commit') first.saved.saveChanges()
        else if (each.kind === 'rank') {
          minute += each.minutes
          first.rank(minute)
        } else {
          const added = contribution(each.place, minute - each.delay)
          const all = (terms.get(`t${each.term}`) ?? '') + added
          terms.set(`t${each.term}`, all)
          first.leaders.changedRare(new TextBytes().of(`t${each.term}`), countsOf(all), countsOf(added))
        }
      }
      first.saved.saveChanges()
      const next = worker(terms, rows)
      const fresh = worker(terms, new Map())
      const entriesOf = (all: RegionStanding[]) => all.filter(({ terms }) => terms.length > 0)
      const visitsBefore = first.visits.awaited
      const expected = entriesOf(first.rank(minute))
      expect(entriesOf(next.rank(minute))).toEqual(expected)
      expect(entriesOf(fresh.rank(minute))).toEqual(expected)
      // The second worker visits all terms only when the first worker must do so as well.
      expect(next.visits.awaited).toBe(first.visits.awaited - visitsBefore)
      expect(entriesOf(next.rank(minute + 25))).toEqual(entriesOf(fresh.rank(minute + 25)))
    }),
    { numRuns: 100 },
  )
})

const MINUTES = 100
const arrivals = fc.array(
  fc.array(fc.record({ term: fc.nat(60), place: fc.constantFrom(...PLACES), delay: fc.nat(5) }), { maxLength: 4 }),
  {
    minLength: 20,
    maxLength: MINUTES,
  },
)

test('while tweets arrive, and after the last tweet, each ranking equals the ranking of a worker that visits all terms', () => {
  fc.assert(
    fc.property(arrivals, (minutes) => {
      const terms = new Map<string, string>()
      const subject = worker(terms, new Map())
      for (let passed = 0; passed < MINUTES + 70; passed++) {
        const minute = NOW + passed
        for (const { term, place, delay } of minutes[passed] ?? []) {
          const added = contribution(place, minute - delay)
          const all = (terms.get(`t${term}`) ?? '') + added
          terms.set(`t${term}`, all)
          subject.leaders.changedRare(new TextBytes().of(`t${term}`), countsOf(all), countsOf(added))
        }
        const listed = (all: RegionStanding[]) => all.filter((region) => region.terms.length > 0)
        expect(listed(subject.rank(minute))).toEqual(listed(worker(terms, new Map()).rank(minute)))
      }
    }),
    { numRuns: 20 },
  )
})

test('when no more tweets arrive, new contenders are collected before the old ones run out', () => {
  const terms = new Map<string, string>()
  const perRegion = 12
  const { leaders, rank, visits } = worker(terms, new Map(), perRegion)
  let minute = NOW
  rank(minute)
  for (let i = 0; i < 60; i++) {
    const term = `t${(i * 37) % 60}`
    const cells = contribution(PLACES[0], ++minute)
    terms.set(term, cells)
    leaders.addedRare(new TextBytes().of(term), countsOf(cells))
    rank(minute)
  }
  visits.awaited = 0
  // After this loop, only as many terms are left as a list has places.
  for (let i = 0; i < 60 - perRegion; i++) {
    const [world] = rank(++minute)
    expect(world.terms.length).toBe(perRegion)
  }
  expect(visits.awaited).toBe(0)
})

test('stored changes are deleted after all regions have been saved in full', () => {
  const terms = new Map<string, string>()
  const rows = new Map<string, SavedStandings>()
  const { leaders, saved, rank } = worker(terms, rows)
  rank(NOW)
  for (let i = 0; i < 100; i++) {
    const cells = contribution(PLACES[0], NOW)
    terms.set(`t${i}`, cells)
    leaders.changedRare(new TextBytes().of(`t${i}`), countsOf(cells), countsOf(cells))
    saved.saveChanges()
    rank(NOW)
  }
  expect([...rows.keys()].filter((key) => key.startsWith('change:')).length).toBeLessThan(50)
})
