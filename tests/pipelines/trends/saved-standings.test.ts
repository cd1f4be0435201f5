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

function worker(terms: ReadonlyMap<string, string>, rows: Map<string, SavedStandings>) {
  const visits = { all: 0 }
  const statesOf: StoredTerms['statesOf'] = (woeid, names) => names.map((name) => stateIn(new RareTerm(0, terms.get(name) ?? ''), woeid))
  const stored: StoredTerms = {
    statesOf,
    found: statesOf,
    rare() {
      visits.all++
      return [...terms].map(([term, cells]): [string, RareTerm] => [term, new RareTerm(0, cells)])
    },
    frequent: () => [],
  }
  const saved = savedStandings(memoryStore(rows))
  const leaders = standings({
    terms: stored,
    usualOf: () => undefined,
    prefetchUsual() {},
    perRegion: PER_REGION,
    drawnPerRegion: PER_REGION,
    saved,
  })
  const reports = reportsIn(new Map())
  let rankings = 0
  function rank(minute: number): RegionStanding[] {
    const found: RegionStanding[] = []
    const ranking = { windowEnd: ++rankings * RENEWAL_MS, partition: 0, missing: 0 }
    for (const _ of leaders.prepare(minute, () => {}));
    for (const _ of leaders.rank(ranking, (report) => {
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

test('a worker that starts continues with the saved standings, without visiting all terms', () => {
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
      const visitsBefore = first.visits.all
      const expected = entriesOf(first.rank(minute))
      expect(entriesOf(next.rank(minute))).toEqual(expected)
      expect(entriesOf(fresh.rank(minute))).toEqual(expected)
      // The second worker visits all terms only when the first worker must do so as well.
      expect(next.visits.all).toBe(first.visits.all - visitsBefore)
      expect(entriesOf(next.rank(minute + 25))).toEqual(entriesOf(fresh.rank(minute + 25)))
    }),
    { numRuns: 100 },
  )
})

test('changes that all regions have saved are deleted', () => {
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
