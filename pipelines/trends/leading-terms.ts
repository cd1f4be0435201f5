import { termKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { type HourlyUsual, isKnownAt, knownFrom } from './baseline.ts'
import type { Floor } from './contenders.ts'
import type { CellCounts } from './packed-cells.ts'
import type { TrackedRegion } from './rare-terms.ts'
import { RegionContenders } from './region-contenders.ts'
import type { Kind, savedStandings } from './saved-standings.ts'
import { trendScore } from './score.ts'
import { greatestCountFrom } from './term-state.ts'
import { type TermBytes, TextBytes } from './term-table.ts'
import { TextSet } from './text-set.ts'
import { hourOfMinute, WINDOW_MINUTES } from './time.ts'

/**
 * Surplus of contenders to keep, as a share of the requested number. If no more tweets arrive, the surplus lasts for a
 * third of the window. Half of it is left when the partition begins to collect new contenders (see refills.ts).
 */
const SPARE_SHARE = 0.5
/**
 * The same share for contenders with a baseline. It is larger than SPARE_SHARE, because the bounds of these terms are
 * looser: a bound is valid for up to two hours.
 */
const SPARE_SHARE_KNOWN = 3

export interface LeadingTermsOptions {
  /**
   * Returns the usual counts of a term in the hour of `lastMinute`; undefined if the term has no baseline for that hour
   * yet.
   */
  readonly usualOf: (key: string, state: TermState, lastMinute: number) => HourlyUsual | undefined
  /** Number of candidates per region for each kind of term (with and without baseline). */
  readonly perRegion: number
  readonly saved: ReturnType<typeof savedStandings>
}

export type LeadingTerms = ReturnType<typeof leadingTerms>

/**
 * Keeps the leading terms of a partition in each region. A term must be offered whenever its contributions change. The
 * offer computes an upper bound for the count or score of the term. Terms with a baseline are kept by score. Terms
 * without a baseline are kept by count. The divisor that turns their count into a score is the same for all of them,
 * and is known only in the third stage. A term can change its kind only at the beginning of an hour.
 *
 * Baselines change from minute to minute, so a score can rise without a contribution. The bound of a term with a
 * baseline is therefore its score with the lowest baseline up to the end of the next hour. Such a term must be offered
 * again in each hour.
 */
export function leadingTerms({ usualOf, perRegion, saved }: LeadingTermsOptions) {
  const byRegion = new Map<number, RegionContenders>()
  const keep = Math.ceil(perRegion * (1 + SPARE_SHARE))
  const keepKnown = Math.ceil(perRegion * (1 + SPARE_SHARE_KNOWN))
  /** The hour (since 1970) for which terms are divided into terms with and without a baseline. */
  let hour = 0
  /** The window's newest bucket at the last ranking. */
  let lastMinute = 0
  /** Keys of the terms that will get a baseline, by the hour in which they get it. */
  const soonKnown = new Map<number, TextSet>()
  const given = new TextBytes()

  /** Moves on to the window whose newest bucket is `minute`. */
  function moveTo(minute: number): void {
    lastMinute = minute
    hour = hourOfMinute(minute)
  }

  /**
   * Loads the saved standings.
   * @returns the last hour for which the bounds of all terms with a baseline are valid; undefined if nothing was saved
   */
  function load(): number | undefined {
    const loaded = saved.load()
    if (loaded === undefined) return undefined
    moveTo(loaded.minute)
    for (const [woeid, { fresh, known }] of loaded.regions) {
      const region = regionContenders(woeid)
      region.fresh.load(bytesOf(fresh.terms), fresh.floor)
      region.known.load(bytesOf(known.terms), known.floor)
    }
    for (const [from, keys] of loaded.soonKnown) for (const key of keys) soonKnownFrom(from).add(key)
    return loaded.coveredHour
  }

  function* bytesOf(terms: Iterable<string>): Generator<TermBytes, void, void> {
    for (const term of terms) yield given.of(term)
  }

  function isKnown(state: TermState): boolean {
    return isKnownAt(state.tracked_hour, hour)
  }

  function regionContenders(woeid: number): RegionContenders {
    const existing = byRegion.get(woeid)
    if (existing !== undefined) return existing
    const listener = (kind: Kind) => ({
      added: (term: string) => saved.added(woeid, kind, term),
      floorMoved: (floor: Floor) => saved.floorMoved(woeid, kind, floor),
    })
    const added = new RegionContenders({ keep, listener: listener('fresh') }, { keep: keepKnown, listener: listener('known') })
    byRegion.set(woeid, added)
    return added
  }

  function offer(woeid: number, term: string, state: TermState, key: string): void {
    const bound = greatestCountFrom(state, lastMinute)
    if (isKnown(state)) {
      offerKnown(woeid, term, state, key, bound)
      return
    }
    if (state.tracked_hour !== 0 && bound > 0) noteSoonKnown(knownFrom(state.tracked_hour), key)
    offerFresh(woeid, given.of(term), bound)
  }

  function offerKnown(woeid: number, term: string, state: TermState, key: string, bound: number): void {
    if (bound === 0 && !byRegion.has(woeid)) return
    const least = bound === 0 ? 0 : (usualOf(key, state, lastMinute)?.least ?? 0)
    regionContenders(woeid).offer('known', given.of(term), trendScore(bound, least))
  }

  function noteSoonKnown(from: number, key: string): void {
    if (soonKnownFrom(from).add(key)) saved.willBeKnown(from, key)
  }

  function soonKnownFrom(from: number): TextSet {
    const keys = soonKnown.get(from) ?? new TextSet()
    soonKnown.set(from, keys)
    return keys
  }

  function offerFresh(woeid: number, term: TermBytes, bound: number): void {
    if (bound > 0 || byRegion.has(woeid)) regionContenders(woeid).offer('fresh', term, bound)
  }

  /**
   * Offers a rare term in the regions of its changed counts.
   * @param all all counts of the term, including the changed ones
   * @param isWanted the regions to which the offers are limited; by default, there is no limit
   */
  function offerRare(term: TermBytes, all: CellCounts, changed: CellCounts, isWanted?: ReadonlySet<number>): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of changed.regions()) {
      if (isWanted === undefined || isWanted.has(woeid)) offerFresh(woeid, term, all.sumIn(woeid, first, Infinity))
    }
  }

  /**
   * Offers a new term. Such a term is not a contender yet, so it need not be offered in regions where it is below the
   * floor.
   */
  function offerFirst(term: TermBytes, counts: CellCounts): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of counts.regions()) {
      const count = counts.sumIn(woeid, first, Infinity)
      if (count === 0) continue
      const region = regionContenders(woeid)
      if (!region.isBelow('fresh', term, count)) region.offer('fresh', term, count)
    }
  }

  /** Offers a frequent term to the new contenders of a region that is being refilled. */
  function refill(woeid: number, term: string, state: TermState, key: string): void {
    const region = byRegion.get(woeid)
    if (!region?.isRefilled) return
    const bound = greatestCountFrom(state, lastMinute)
    if (bound === 0) return
    if (!isKnown(state)) region.offerRefill('fresh', given.of(term), bound)
    else region.offerRefill('known', given.of(term), trendScore(bound, usualOf(key, state, lastMinute)?.least ?? 0))
  }

  /** Offers a rare term to the new contenders of all regions that are being refilled. */
  function refillRare(term: TermBytes, counts: CellCounts): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of counts.regions()) {
      const region = byRegion.get(woeid)
      if (region?.isRefilled) region.offerRefill('fresh', term, counts.sumIn(woeid, first, Infinity))
    }
  }

  /**
   * Notes when a rare term will get its baseline in a region. Must be called when the region has begun to track the
   * term. Does not offer the term, because the order of the terms does not change before the term has a baseline.
   */
  function tracked(term: string, { woeid, hour: since }: TrackedRegion): void {
    noteSoonKnown(knownFrom(since), termKey(woeid, term))
    byRegion.get(woeid)?.wasTracked(given.of(term))
  }

  function noteTracked(term: string, tracked: readonly TrackedRegion[]): void {
    for (const { woeid, hour: since } of tracked) noteSoonKnown(knownFrom(since), termKey(woeid, term))
  }

  /**
   * Returns the keys of the terms that have got a baseline since the last call: in this hour or, after a gap, in an
   * earlier one.
   */
  function* newlyKnown(): Generator<string, void, void> {
    for (const [from, keys] of soonKnown) {
      if (from > hour) continue
      soonKnown.delete(from)
      saved.areKnown(from)
      yield* keys
    }
  }

  return {
    byRegion,
    get hour() {
      return hour
    },
    get lastMinute() {
      return lastMinute
    },
    moveTo,
    load,
    isKnown,
    offer,
    offerKnown,
    offerRare,
    offerFirst,
    refill,
    refillRare,
    tracked,
    noteTracked,
    newlyKnown,
  }
}
