import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey } from '../../schemas/trends/term.ts'
import type { TermCell, TermState, TrendCandidate } from '../../schemas/trends/types.ts'
import { isKnownAt } from './baseline.ts'
import { countFrom, regionsOf } from './cells.ts'
import { type Best, type Contenders, contenders, type Evaluation } from './contenders.ts'
import { exactTop } from './exact-top.ts'
import { regionsOfCells } from './rare-terms.ts'
import { trendScore } from './score.ts'
import type { StoredTerms } from './stored-terms.ts'
import { candidateOf, greatestCountFrom, NO_BASELINE, unchangedThrough, windowCount } from './term-state.ts'
import { hourOfMinute, WINDOW_MINUTES } from './time.ts'

/** Share of contenders to keep beyond those requested. They delay the next visit to all terms of a region. */
const SPARE_SHARE = 0.25
/** Number of terms visited between two pauses. The pauses let the event loop send heartbeats. */
const TERMS_PER_PAUSE = 2_000
/** Number of regions ranked between two pauses. */
const REGIONS_PER_PAUSE = 8

export interface StandingsOptions {
  readonly terms: StoredTerms
  /** Returns the usual count of a known term in an hour (hours since 1970). */
  readonly usualOf: (key: string, hour: number) => number
  /** Reads in one batch the values that `usualOf` will need. */
  readonly prefetchUsual: (keys: readonly string[]) => void
  /** Number of candidates per region for each kind of term (with and without baseline). */
  readonly perRegion: number
}

/** A partition's report about one region. */
export interface RegionStanding {
  readonly woeid: number
  readonly entries: TrendCandidate[]
  /** Upper bound for the count of any omitted term without baseline. */
  readonly restNew: number
  /** Upper bound for the score of any omitted term with baseline. */
  readonly restKnown: number
}

interface RegionContenders {
  readonly fresh: Contenders
  readonly known: Contenders
  /**
   * Evaluations of the last leading terms. Most are unchanged at the next renewal and need not be read and decoded
   * again.
   */
  looks: Map<string, Look>
}

/** The evaluation of a term, valid until something changes. */
interface Look {
  readonly candidate: TrendCandidate
  /** The greatest count that the term can have from now on without further contributions. */
  readonly greatest: number
  /** Newest bucket of the last window for which the evaluation is valid if no contribution arrives. */
  readonly through: number
}

/**
 * Tracks the leading terms of a partition in each region. Every change updates them, so a renewal need not visit all
 * terms. Terms without a baseline are ranked by count, because the divisor that turns their count into a score is the
 * same for all of them and is not known here. Terms with a baseline are ranked by score. A term's kind changes only
 * with the hour.
 *
 * The standings are in memory. `rebuild` derives them from the stored terms.
 */
export function standings({ terms, usualOf, prefetchUsual, perRegion }: StandingsOptions) {
  const byRegion = new Map<number, RegionContenders>()
  const keep = Math.ceil(perRegion * (1 + SPARE_SHARE))
  let built = false
  /** The hour (since 1970) that decides which terms have a baseline. */
  let hour = 0
  /** The window's newest bucket at the last ranking. */
  let lastMinute = 0
  /** The earliest hour from which a term is tracked. No term has a baseline until a week later. */
  let earliestTracked = Infinity

  function isKnown(state: TermState): boolean {
    return isKnownAt(state.tracked_hour, hour)
  }

  function regionContenders(woeid: number): RegionContenders {
    const existing = byRegion.get(woeid)
    if (existing !== undefined) return existing
    const added = { fresh: contenders(keep), known: contenders(keep), looks: new Map() }
    byRegion.set(woeid, added)
    return added
  }

  function offer(woeid: number, term: string, state: TermState): void {
    if (state.tracked_hour !== 0 && state.tracked_hour < earliestTracked) earliestTracked = state.tracked_hour
    const bound = greatestCountFrom(state, lastMinute)
    if (!isKnown(state)) {
      offerFresh(woeid, term, bound)
      return
    }
    if (bound === 0 && !byRegion.has(woeid)) return
    const region = regionContenders(woeid)
    region.looks.delete(term)
    region.known.offer(term, trendScore(bound, usualOf(termKey(woeid, term), hour)))
  }

  function offerFresh(woeid: number, term: string, bound: number): void {
    if (bound === 0 && !byRegion.has(woeid)) return
    const region = regionContenders(woeid)
    region.looks.delete(term)
    region.fresh.offer(term, bound)
  }

  /** @param changed the cells whose regions need an offer, out of all `cells` of the rare term */
  function offerRare(term: string, cells: readonly TermCell[], changed: readonly TermCell[], isWanted?: ReadonlySet<number>): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of regionsOfCells(changed)) {
      if (isWanted !== undefined && !isWanted.has(woeid)) continue
      let bound = 0
      for (const cell of cells) if (cells.length === 1 || regionsOf(cell).includes(woeid)) bound += countFrom(cell, first)
      offerFresh(woeid, term, bound)
    }
  }

  /**
   * Returns false after a start, and when a new hour may give terms a baseline. In both cases, call `rebuild` first.
   */
  function readyFor(minute: number): boolean {
    if (!built) return false
    const next = hourOfMinute(minute)
    return next === hour || !isKnownAt(earliestTracked, next)
  }

  /** Derives the standings by visiting every term. Yields at intervals. */
  function* rebuild(minute: number, visit: (key: string, state: TermState) => void): Generator<void, void, void> {
    byRegion.clear()
    hour = hourOfMinute(minute)
    lastMinute = minute
    let visited = 0
    for (const [woeid, term, state, key] of terms.frequent()) {
      visit(key, state)
      offer(woeid, term, state)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    for (const [term, cells] of terms.rare()) {
      offerRare(term, cells, cells)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    built = true
  }

  /** Must be called after contributions were added to a term. */
  function changed(woeid: number, term: string, state: TermState): void {
    if (built) offer(woeid, term, state)
  }

  /** Must be called after contributions were added to a rare term. */
  function changedRare(term: string, cells: readonly TermCell[], changed: readonly TermCell[]): void {
    if (built) offerRare(term, cells, changed)
  }

  /** Reports the candidates of every region that has any. Yields at intervals. */
  function* rank(minute: number, take: (standing: RegionStanding) => void): Generator<void, void, void> {
    lastMinute = minute
    hour = hourOfMinute(minute)
    let ranked = 0
    const exhausted = new Map<number, RegionContenders>()
    for (const { woeid } of regions) {
      const region = byRegion.get(woeid)
      if (region === undefined) continue
      const standing = rankRegion(woeid, region)
      if (standing === undefined) exhausted.set(woeid, region)
      else take(standing)
      if (++ranked % REGIONS_PER_PAUSE === 0) yield
    }
    if (exhausted.size > 0) yield* revisit(exhausted, take)
  }

  /** Returns undefined if all terms of the region must be visited. */
  function rankRegion(woeid: number, region: RegionContenders): RegionStanding | undefined {
    const fresh = region.fresh.best(perRegion, (names) => evaluate(woeid, region, names))
    const known = region.known.best(perRegion, (names) => evaluate(woeid, region, names))
    if (fresh !== undefined && known !== undefined) return standingOf(woeid, region, fresh, known)
    return undefined
  }

  function evaluate(woeid: number, region: RegionContenders, names: readonly string[]): Evaluation[] {
    lookAt(woeid, region, names)
    return names.map((term) => {
      const look = region.looks.get(term)
      if (look === undefined) return { value: 0, bound: 0 }
      const { candidate, greatest } = look
      const value = worthOf(candidate.count, candidate.baseline)
      return { value, bound: greatest === candidate.count ? value : worthOf(greatest, candidate.baseline) }
    })
  }

  /** Returns the value that ranks a term among terms of the same kind. */
  function worthOf(count: number, baseline: number): number {
    return baseline === NO_BASELINE || count === 0 ? count : trendScore(count, baseline)
  }

  /** Reads the terms whose evaluation is missing or may have changed. */
  function lookAt(woeid: number, region: RegionContenders, names: readonly string[]): void {
    const { looks } = region
    const changedOnes = names.filter((term) => !((looks.get(term)?.through ?? 0) >= lastMinute))
    if (changedOnes.length === 0) return
    const states = terms.statesOf(woeid, changedOnes)
    prefetchUsual(changedOnes.flatMap((term, i) => (states[i] !== undefined && isKnown(states[i]) ? termKey(woeid, term) : [])))
    for (const [i, term] of changedOnes.entries()) {
      const state = states[i]
      if (state === undefined) looks.delete(term)
      else looks.set(term, lookOf(term, state, isKnown(state) ? usualOf(termKey(woeid, term), hour) : undefined))
    }
  }

  function lookOf(term: string, state: TermState, usual: number | undefined): Look {
    const candidate = candidateOf(term, state, windowCount(state, lastMinute), usual, lastMinute)
    return { candidate, greatest: greatestCountFrom(state, lastMinute), through: unchangedThrough(state, lastMinute) }
  }

  /**
   * Visits all terms once for the regions whose contenders have run out or have too many contributions dated ahead.
   * Yields at intervals.
   */
  function* revisit(
    exhausted: ReadonlyMap<number, RegionContenders>,
    take: (standing: RegionStanding) => void,
  ): Generator<void, void, void> {
    const best = new Map([...exhausted.keys()].map((woeid) => [woeid, { fresh: exactTop(perRegion), known: exactTop(perRegion) }]))
    const wanted = new Set(exhausted.keys())
    for (const region of exhausted.values()) {
      region.fresh.restart()
      region.known.restart()
    }
    let visited = 0
    for (const [woeid, term, state, key] of terms.frequent()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      const tops = best.get(woeid)
      if (tops === undefined) continue
      offer(woeid, term, state)
      const count = windowCount(state, lastMinute)
      if (isKnown(state)) tops.known.add(term, worthOf(count, usualOf(key, hour)))
      else tops.fresh.add(term, count)
    }
    for (const [term, cells] of terms.rare()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      offerRare(term, cells, cells, wanted)
      for (const woeid of regionsOfCells(cells)) best.get(woeid)?.fresh.add(term, countInWindow(cells, woeid))
    }
    for (const [woeid, region] of exhausted) {
      const { fresh, known } = best.get(woeid)!
      take(standingOf(woeid, region, fresh.best(), known.best()))
    }
  }

  function countInWindow(cells: readonly TermCell[], woeid: number): number {
    let count = 0
    for (const cell of cells) {
      if (!regionsOf(cell).includes(woeid)) continue
      count += countFrom(cell, lastMinute - WINDOW_MINUTES + 1) - countFrom(cell, lastMinute + 1)
    }
    return count
  }

  function standingOf(woeid: number, region: RegionContenders, fresh: Best, known: Best): RegionStanding {
    const names = [...fresh.terms, ...known.terms]
    lookAt(woeid, region, names)
    region.looks = new Map(names.map((term) => [term, region.looks.get(term) as Look]))
    return { woeid, entries: [...region.looks.values()].map((look) => look.candidate), restNew: fresh.rest, restKnown: known.rest }
  }

  return {
    readyFor,
    rebuild,
    changed,
    changedRare,
    rank,
    get contenders() {
      let sum = 0
      for (const region of byRegion.values()) sum += region.fresh.size + region.known.size
      return sum
    },
  }
}
