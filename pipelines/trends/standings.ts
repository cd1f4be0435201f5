import { regions } from '../../schemas/trends/places/regions.ts'
import { termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { isKnownAt } from './baseline.ts'
import { leadingTerms } from './leading-terms.ts'
import { CellCounts } from './packed-cells.ts'
import type { TrackedRegion } from './rare-terms.ts'
import { type RefillsOptions, refills } from './refills.ts'
import { type Ranking, type RegionRankingsOptions, regionRankings } from './region-rankings.ts'
import type { RegionReport } from './region-report.ts'
import type { savedStandings } from './saved-standings.ts'
import { TERMS_PER_PAUSE } from './stored-terms.ts'
import { greatestCountFrom } from './term-state.ts'
import { type TermBytes, TextBytes } from './term-table.ts'

/**
 * Number of baselines read at once. A baseline takes up to about two kilobytes, and must stay in the cache until it is
 * used.
 */
const BASELINES_READ = 256
/** Number of regions saved between two pauses. The pauses let the event loop send heartbeats. */
const REGIONS_PER_PAUSE = 8
/**
 * Number of regions that are saved in full after each ranking. At this rate, all regions are saved within ten minutes.
 */
const REGIONS_SAVED = Math.ceil(regions.length / 20)

export interface StandingsOptions extends Omit<RegionRankingsOptions, 'leading' | 'isLow'>, Pick<RefillsOptions, 'termsPerRanking'> {
  readonly saved: ReturnType<typeof savedStandings>
}

/**
 * The standings of a partition: its leading terms in each region. Every change updates them, so a renewal does not have
 * to visit all terms.
 *
 * The standings are in memory and saved with each commit. A worker that starts loads the saved names, and the first
 * ranking evaluates them. If nothing was saved, `prepare` derives the standings from the stored terms.
 */
export function standings(options: StandingsOptions) {
  const { terms: stored, prefetchUsual, saved } = options
  const leading = leadingTerms(options)
  const refilled = refills({ ...options, leading, refilled: save })
  const rankings = regionRankings({ ...options, leading, isLow: refilled.begin })
  const { byRegion } = leading
  const given = new TextBytes()
  /** The counts of the rare term that is being visited. */
  const counts = new CellCounts()
  const loadedHour = leading.load()
  let built = loadedHour !== undefined
  /** The last hour for which the bounds of all terms with a baseline are valid. */
  let coveredHour = loadedHour ?? 0
  /** The index of the next region to save. */
  let nextSaved = 0

  /**
   * Brings the standings up to date for the window whose newest bucket is `minute`. Must be called before `rank` ranks
   * this window. Yields at intervals.
   * @param becomesKnown called for each term before it is first offered with a baseline
   */
  function* prepare(minute: number, becomesKnown: (term: string) => void): Generator<void, void, void> {
    leading.moveTo(minute)
    if (!built) yield* rebuild()
    else if (leading.hour > coveredHour) yield* offerAllKnown()
    else {
      yield* offerNewlyKnown(becomesKnown)
      return
    }
    yield* saveAll()
    yield* offerNewlyKnown(becomesKnown)
  }

  function* saveAll(): Generator<void, void, void> {
    let made = 0
    for (const woeid of byRegion.keys()) {
      save(woeid)
      if (++made % REGIONS_PER_PAUSE === 0) yield
    }
  }

  function save(woeid: number): void {
    const region = byRegion.get(woeid)
    if (region !== undefined) saved.saveRegion({ woeid, contenders: region })
  }

  /** Saves the next regions in full, so that their changes so far can be deleted. */
  function saveSome(): void {
    for (let i = 0; i < REGIONS_SAVED; i++) {
      save(regions[nextSaved].woeid)
      if (++nextSaved < regions.length) continue
      nextSaved = 0
      saved.roundEnded()
    }
    saved.ranked(leading.lastMinute, coveredHour)
  }

  /** Derives the standings by visiting every term. */
  function* rebuild(): Generator<void, void, void> {
    byRegion.clear()
    coveredHour = leading.hour + 1
    let visited = 0
    for (const [woeid, term, state, key] of stored.frequent()) {
      leading.offer(woeid, term, state, key)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    for (const [term, row] of stored.rare()) {
      leading.offerRare(given.of(term), counts.readRow(row.packed), counts)
      leading.noteTracked(term, row.tracked)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    built = true
  }

  /**
   * Offers again all terms that have a baseline. This is necessary only after a stop of more than an hour, or if
   * `offerAgain` did not reach all terms within an hour.
   */
  function* offerAllKnown(): Generator<void, void, void> {
    for (const region of byRegion.values()) region.restartKnown()
    coveredHour = leading.hour + 1
    let visited = 0
    let some: [key: string, state: TermState][] = []
    for (const [, , state, key] of stored.frequent()) {
      if (isActive(state)) some.push([key, state])
      if (some.length === BASELINES_READ) {
        offerKnown(some)
        some = []
      }
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    offerKnown(some)
  }

  /** Returns whether a term has a baseline, and contributions in the current window or in a later one. */
  function isActive(state: TermState): boolean {
    return leading.isKnown(state) && greatestCountFrom(state, leading.lastMinute) > 0
  }

  /** Offers active terms. Reads their baselines in one batch, because single reads cost ten times as much. */
  function offerKnown(terms: readonly [key: string, state: TermState][]): void {
    prefetchUsual(terms.map(([key]) => key))
    for (const [key, state] of terms)
      leading.offerKnown(woeidOfKey(key), termOfKey(key), state, key, greatestCountFrom(state, leading.lastMinute))
  }

  /** Offers the terms that have gained a baseline since the last call. */
  function* offerNewlyKnown(becomesKnown: (term: string) => void): Generator<void, void, void> {
    let visited = 0
    for (const key of leading.newlyKnown()) {
      const [woeid, term] = [woeidOfKey(key), termOfKey(key)]
      becomesKnown(term)
      const [state] = stored.statesOf(woeid, [term])
      if (state !== undefined) leading.offer(woeid, term, state, key)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
  }

  /**
   * Renews the bounds of terms with a baseline.
   * @param walkedHour the hour in which the last complete scan of all terms began; undefined if there was none
   */
  function offerAgain(frequent: Iterable<[key: string, state: TermState]>, walkedHour: number | undefined): void {
    const active = [...frequent].filter(([, state]) => isActive(state))
    for (let from = 0; from < active.length; from += BASELINES_READ) offerKnown(active.slice(from, from + BASELINES_READ))
    if (walkedHour !== undefined) coveredHour = Math.max(coveredHour, walkedHour + 1)
  }

  /** Offers a frequent term as a contender. Must be called after contributions were added to the term. */
  function changed(woeid: number, term: string, state: TermState, key: string): void {
    if (built) leading.offer(woeid, term, state, key)
  }

  /** Offers a rare term as a contender. Must be called after contributions were added to the term. */
  function changedRare(term: TermBytes, all: CellCounts, changed: CellCounts): void {
    if (built) leading.offerRare(term, all, changed)
  }

  /** Must be called when a region has begun to track a rare term. */
  function trackedRare(term: string, region: TrackedRegion): void {
    if (built) leading.tracked(term, region)
  }

  /** Offers a new term as a contender. Must be called with the first contributions to the term. */
  function addedRare(term: TermBytes, counts: CellCounts): void {
    if (built) leading.offerFirst(term, counts)
  }

  /**
   * Reports the candidates of every region in the standings, continues refills, and saves some regions. Yields at
   * intervals.
   */
  function* rank(ranking: Ranking, take: (report: RegionReport) => void): Generator<void, void, void> {
    yield* rankings.rank(ranking, take, save)
    yield* refilled.run()
    saveSome()
  }

  return {
    prepare,
    /**
     * Returns whether a region already has a baseline for a rare term that it has tracked since `trackedHour`. Returns
     * false for 0, which means that no region tracks the term.
     */
    isKnownSince: (trackedHour: number) => isKnownAt(trackedHour, leading.hour),
    offerAgain,
    changed,
    changedRare,
    trackedRare,
    addedRare,
    rank,
    /** The hour of the last report; 0 if there was none. */
    get hour() {
      return leading.hour
    },
    get contenders() {
      let sum = 0
      for (const region of byRegion.values()) sum += region.fresh.size + region.known.size
      return sum
    },
  }
}
