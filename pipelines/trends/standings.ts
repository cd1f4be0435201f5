import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { type HourlyUsual, isKnownAt, knownFrom, usualInWindow } from './baseline.ts'
import type { TrendCandidate } from './candidate.ts'
import type { Best, Evaluator, Floor } from './contenders.ts'
import { drawFrom } from './drawn-tweets.ts'
import { type ExactTop, exactTop } from './exact-top.ts'
import type { Look } from './looks.ts'
import { candidateOfOnly, type OnlyTweet, onlyCountFrom, onlyUnchangedThrough } from './only-tweet.ts'
import { CellCounts } from './packed-cells.ts'
import type { TrackedRegion } from './rare-terms.ts'
import { RegionContenders } from './region-contenders.ts'
import { type RegionReport, type ReportHead, reportWriter } from './region-report.ts'
import { KEPT_SAMPLES } from './samples.ts'
import type { Kind, savedStandings } from './saved-standings.ts'
import { trendScore } from './score.ts'
import type { StoredTerms } from './stored-terms.ts'
import { candidateOf, greatestCountFrom, unchangedThrough, windowCount } from './term-state.ts'
import { type TermBytes, TextBytes } from './term-table.ts'
import { TextSet } from './text-set.ts'
import { hourOfMinute, WINDOW_MINUTES } from './time.ts'

/**
 * Share of contenders to keep beyond the requested number. The surplus delays the next visit to all terms of a region.
 */
const SPARE_SHARE = 0.25
/**
 * Share of contenders with a baseline to keep beyond the requested number. It is larger than SPARE_SHARE, because the
 * bounds of these terms are looser: a bound is valid for up to two hours.
 */
const SPARE_SHARE_KNOWN = 3
/** Number of terms visited between two pauses. The pauses let the event loop send heartbeats. */
const TERMS_PER_PAUSE = 2_000
/** Number of regions ranked between two pauses. */
const REGIONS_PER_PAUSE = 8
/**
 * Number of regions that are saved in full after each ranking. At this rate, all regions are saved within ten minutes.
 */
const REGIONS_SAVED = Math.ceil(regions.length / 20)

export interface StandingsOptions {
  readonly terms: StoredTerms
  /**
   * Returns the usual counts of a term in the hour of `lastMinute`; undefined if the term has no baseline for that hour
   * yet.
   */
  readonly usualOf: (key: string, state: TermState, lastMinute: number) => HourlyUsual | undefined
  /** Reads in one batch the values that `usualOf` will need. */
  readonly prefetchUsual: (keys: readonly string[]) => void
  /** Number of candidates per region for each kind of term (with and without baseline). */
  readonly perRegion: number
  /** Number of the best candidates of each kind that are reported with drawn tweets. */
  readonly drawnPerRegion: number
  readonly saved: ReturnType<typeof savedStandings>
}

/** The fields that all reports of a partition about one window have in common. */
export type Ranking = Pick<ReportHead, 'windowEnd' | 'partition' | 'missing'>

const neverDue = () => false

/**
 * Tracks the leading terms of a partition in each region. Every change updates the standings, so a renewal does not
 * have to visit all terms. Terms without a baseline are ranked by count, because the divisor that turns their count
 * into a score is the same for all of them and is known only in the third stage. Terms with a baseline are ranked by
 * score. A term can change its kind only at the beginning of an hour.
 *
 * Baselines change from minute to minute, so a score can rise without a contribution. The bound of a term with a
 * baseline is therefore its score with the lowest baseline up to the end of the next hour, and the term must be offered
 * again in each hour (`offerAgain`).
 *
 * The standings are in memory and saved with each commit. A worker that starts loads the saved names, and the first
 * ranking evaluates them. If nothing was saved, `prepare` derives the standings from the stored terms.
 */
export function standings({ terms: stored, usualOf, prefetchUsual, perRegion, drawnPerRegion, saved }: StandingsOptions) {
  const byRegion = new Map<number, RegionContenders>()
  const keep = Math.ceil(perRegion * (1 + SPARE_SHARE))
  const keepKnown = Math.ceil(perRegion * (1 + SPARE_SHARE_KNOWN))
  let built = false
  /** The counts of the rare term that is being visited. */
  const counts = new CellCounts()
  const writer = reportWriter()
  /** The hour (since 1970) for which terms are divided into terms with and without a baseline. */
  let hour = 0
  /** The window's newest bucket at the last ranking. */
  let lastMinute = 0
  /** The last hour for which the bounds of all terms with a baseline are valid. */
  let coveredHour = 0
  /** Keys of the terms that will get a baseline, by the hour in which they get it. */
  const soonKnown = new Map<number, TextSet>()
  /** The index of the next region to save. */
  let nextSaved = 0
  const given = new TextBytes()
  /**
   * The candidates of the region that is being ranked, by number of the term. Candidates whose details were already
   * sent are left out.
   */
  let candidates = new Map<number, TrendCandidate>()
  load()

  function load(): void {
    const loaded = saved.load()
    if (loaded === undefined) return
    lastMinute = loaded.minute
    hour = hourOfMinute(lastMinute)
    coveredHour = loaded.coveredHour
    for (const [woeid, { fresh, known }] of loaded.regions) {
      const region = regionContenders(woeid)
      region.fresh.load(bytesOf(fresh.terms), fresh.floor)
      region.known.load(bytesOf(known.terms), known.floor)
    }
    for (const [from, keys] of loaded.soonKnown) for (const key of keys) soonKnownFrom(from).add(key)
    built = true
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
   * Offers a rare term in the regions of a change.
   * @param changed the counts whose regions need an offer, out of `all` counts of the term
   */
  function offerRare(term: TermBytes, all: CellCounts, changed: CellCounts, isWanted?: ReadonlySet<number>): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of changed.regions()) {
      if (isWanted === undefined || isWanted.has(woeid)) offerFresh(woeid, term, all.sumIn(woeid, first, Infinity))
    }
  }

  /**
   * Offers a term that had no state. Such a term is not a contender yet, so it is only compared with the region's
   * floor.
   */
  function offerFirst(term: TermBytes, counts: CellCounts): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of counts.regions()) {
      const count = counts.sumIn(woeid, first, Infinity)
      if (count === 0) continue
      const region = regionContenders(woeid)
      if (!region.fresh.isBelow(term, count)) region.offer('fresh', term, count)
    }
  }

  /**
   * Brings the standings up to date for a minute. Must be called before `rank`, with the same minute. Yields at
   * intervals.
   * @param becomesKnown called for each term before it is first offered with a baseline
   */
  function* prepare(minute: number, becomesKnown: (term: string) => void): Generator<void, void, void> {
    lastMinute = minute
    hour = hourOfMinute(minute)
    if (!built) yield* rebuild()
    else if (hour > coveredHour) yield* offerAllKnown()
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
    saved.ranked(lastMinute, coveredHour)
  }

  /** Derives the standings by visiting every term. */
  function* rebuild(): Generator<void, void, void> {
    byRegion.clear()
    coveredHour = hour + 1
    let visited = 0
    for (const [woeid, term, state, key] of stored.frequent()) {
      offer(woeid, term, state, key)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    for (const [term, row] of stored.rare()) {
      offerRare(given.of(term), counts.readRow(row.packed), counts)
      noteTracked(term, row.tracked)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    built = true
  }

  /**
   * Offers all terms that have a baseline again. This is necessary only after a stop of more than an hour, or if
   * `offerAgain` did not reach all terms within an hour.
   */
  function* offerAllKnown(): Generator<void, void, void> {
    for (const { known } of byRegion.values()) known.restart()
    coveredHour = hour + 1
    let visited = 0
    for (const [woeid, term, state, key] of stored.frequent()) {
      if (isKnown(state)) offerKnown(woeid, term, state, key, greatestCountFrom(state, lastMinute))
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
  }

  /** Offers the terms that have a baseline from this hour on. */
  function* offerNewlyKnown(becomesKnown: (term: string) => void): Generator<void, void, void> {
    for (const [from, keys] of soonKnown) {
      if (from > hour) continue
      soonKnown.delete(from)
      saved.areKnown(from)
      let visited = 0
      for (const key of keys) {
        const term = termOfKey(key)
        becomesKnown(term)
        const [state] = stored.statesOf(woeidOfKey(key), [term])
        if (state !== undefined) offer(woeidOfKey(key), term, state, key)
        if (++visited % TERMS_PER_PAUSE === 0) yield
      }
    }
  }

  /**
   * Renews the bounds of terms with a baseline.
   *   @param walkedHour the hour in which the last complete scan of all terms began; undefined if there was none
   */
  function offerAgain(frequent: Iterable<[key: string, state: TermState]>, walkedHour: number | undefined): void {
    const active = [...frequent].filter(([, state]) => isKnown(state) && greatestCountFrom(state, lastMinute) > 0)
    prefetchUsual(active.map(([key]) => key))
    for (const [key, state] of active) offerKnown(woeidOfKey(key), termOfKey(key), state, key, greatestCountFrom(state, lastMinute))
    if (walkedHour !== undefined) coveredHour = Math.max(coveredHour, walkedHour + 1)
  }

  /** Offers a frequent term as a contender. Must be called after contributions were added to the term. */
  function changed(woeid: number, term: string, state: TermState, key: string): void {
    if (built) offer(woeid, term, state, key)
  }

  /** Offers a rare term as a contender. Must be called after contributions were added to the term. */
  function changedRare(term: TermBytes, all: CellCounts, changed: CellCounts, tracked: readonly TrackedRegion[]): void {
    if (!built) return
    offerRare(term, all, changed)
    if (tracked.length > 0) noteTracked(term.record.toString('utf8', term.termStart, term.termEnd), tracked)
  }

  /**
   * Notes when a rare term will get its baseline in a region. Must be called when the region has begun to track the
   * term. The standings do not change before the term has a baseline.
   */
  function trackedRare(term: string, { woeid, hour: since }: TrackedRegion): void {
    if (!built) return
    noteSoonKnown(knownFrom(since), termKey(woeid, term))
    byRegion.get(woeid)?.wasTracked(given.of(term))
  }

  function noteTracked(term: string, tracked: readonly TrackedRegion[]): void {
    for (const { woeid, hour: since } of tracked) noteSoonKnown(knownFrom(since), termKey(woeid, term))
  }

  /** Offers a new term as a contender. Must be called with the first contributions to the term. */
  function addedRare(term: TermBytes, counts: CellCounts): void {
    if (built) offerFirst(term, counts)
  }

  /** Reports the candidates of every region that has candidates. Yields at intervals. */
  function* rank(ranking: Ranking, take: (report: RegionReport) => void): Generator<void, void, void> {
    let ranked = 0
    const exhausted = new Map<number, RegionContenders>()
    for (const { woeid } of regions) {
      const region = byRegion.get(woeid)
      if (region === undefined) continue
      const report = rankRegion(woeid, region, ranking)
      if (report === undefined) exhausted.set(woeid, region)
      else take(report)
      if (++ranked % REGIONS_PER_PAUSE === 0) yield
    }
    if (exhausted.size > 0) yield* revisit(exhausted, ranking, take)
    saveSome()
  }

  /** Ranks the terms of a region. Returns undefined if all terms of the region must be visited. */
  function rankRegion(woeid: number, region: RegionContenders, ranking: Ranking): RegionReport | undefined {
    const best = (kind: Kind) => region[kind].best(perRegion, evaluatorOf(woeid, region, kind))
    const fresh = best('fresh')
    const known = best('known')
    const report = fresh && known && reportOf(woeid, region, fresh, known, ranking)
    candidates = new Map()
    return report
  }

  /**
   * Returns the evaluator for terms of one kind. At the beginning of an hour, a term may gain or lose its baseline. It
   * is then offered among the terms of its new kind, and has no value among the terms of the other kind.
   */
  function evaluatorOf(woeid: number, region: RegionContenders, kind: Kind): Evaluator {
    const { looks } = region
    const isOfKind = (term: number) => looks.has(term) && looks.isKnown(term) === (kind === 'known')
    return {
      evaluate: (terms) => lookAt(woeid, region, terms, neverDue),
      valueOf: (term) => (isOfKind(term) ? looks.valueOf(term) : 0),
      boundOf: (term) => (isOfKind(term) ? looks.boundOf(term) : 0),
    }
  }

  /**
   * Reads and evaluates the terms whose evaluation is missing or may have changed.
   * @param isDue returns true if the details of a term must be sent
   */
  function lookAt(
    woeid: number,
    { looks, table }: RegionContenders,
    terms: readonly number[],
    isDue: (term: number, index: number) => boolean,
  ): void {
    const changedOnes: number[] = []
    for (let i = 0; i < terms.length; i++) {
      const term = terms[i]
      if (!looks.has(term) || looks.throughOf(term) < lastMinute || (!candidates.has(term) && isDue(term, i))) changedOnes.push(term)
      else looks.renew(term, lastMinute)
    }
    if (changedOnes.length === 0) return
    const names = changedOnes.map((term) => table.text(term))
    const all = stored.found(woeid, names)
    prefetchUsual(
      names.flatMap((name, i) => {
        const found = all[i]
        return found !== undefined && !('tweet' in found) && isKnown(found) ? termKey(woeid, name) : []
      }),
    )
    for (const [i, term] of changedOnes.entries()) {
      const found = all[i]
      candidates.delete(term)
      if (found === undefined) {
        looks.forget(term)
        continue
      }
      const { candidate, ...look } = 'tweet' in found ? lookOfOnly(names[i], found) : lookOf(woeid, names[i], found)
      looks.set(term, look)
      looks.renew(term, lastMinute)
      candidates.set(term, candidate)
    }
  }

  /**
   * Returns the evaluation of a rare term. Rare terms have no baseline, because a term always becomes frequent before
   * it needs one.
   */
  function lookOfOnly(name: string, only: OnlyTweet): Look & { candidate: TrendCandidate } {
    const candidate = candidateOfOnly(name, only, lastMinute)
    const { count, tracked } = candidate
    const greatest = onlyCountFrom(only, lastMinute)
    return { candidate, count, greatest, tracked, usual: undefined, hasDrawn: true, through: onlyUnchangedThrough(only, lastMinute) }
  }

  function lookOf(woeid: number, name: string, state: TermState): Look & { candidate: TrendCandidate } {
    const greatest = greatestCountFrom(state, lastMinute)
    // A term that no window will contain is not a contender of either kind. It may be a rare term, which has no
    // baseline.
    const usual = greatest > 0 && isKnown(state) ? usualOf(termKey(woeid, name), state, lastMinute) : undefined
    const baseline = usual && usualInWindow(usual, lastMinute)
    const candidate = candidateOf(name, state, windowCount(state, lastMinute), baseline, lastMinute)
    // The tweets of these candidates are drawn now, because reading the states again later would cost more. Most
    // candidates have few tweets.
    const hasDrawn = state.samples.length < KEPT_SAMPLES
    if (hasDrawn) candidate.drawn = drawnOf(state)
    const { count, tracked } = candidate
    return { candidate, count, greatest, tracked, usual, hasDrawn, through: unchangedThrough(state, lastMinute) }
  }

  function drawnOf({ samples, drawn }: TermState): readonly bigint[] {
    return drawFrom(samples, drawn, lastMinute - WINDOW_MINUTES + 1)
  }

  /** Adds drawn tweets to the candidates that may be among the best of the region. */
  function draw(woeid: number, { looks, table }: RegionContenders, terms: readonly number[]): void {
    const open = terms.filter((term) => !looks.hasDrawn(term))
    if (open.length === 0) return
    const states = stored.statesOf(
      woeid,
      open.map((term) => table.text(term)),
    )
    for (const [i, term] of open.entries()) {
      candidates.get(term)!.drawn = drawnOf(states[i]!)
      looks.wasDrawn(term)
    }
  }

  /**
   * Visits all terms once for the regions whose contenders have run out or have too many contributions dated ahead.
   * Yields at intervals.
   */
  function* revisit(
    exhausted: ReadonlyMap<number, RegionContenders>,
    ranking: Ranking,
    take: (report: RegionReport) => void,
  ): Generator<void, void, void> {
    const best = new Map([...exhausted.keys()].map((woeid) => [woeid, { fresh: exactTop(perRegion), known: exactTop(perRegion) }]))
    const wanted = new Set(exhausted.keys())
    for (const region of exhausted.values()) {
      region.fresh.restart()
      region.known.restart()
    }
    let visited = 0
    for (const [woeid, term, state, key] of stored.frequent()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      const tops = best.get(woeid)
      if (tops === undefined) continue
      offer(woeid, term, state, key)
      const count = windowCount(state, lastMinute)
      const usual = isKnown(state) ? usualOf(key, state, lastMinute) : undefined
      if (usual === undefined) tops.fresh.add(term, count)
      else tops.known.add(term, trendScore(count, usualInWindow(usual, lastMinute)))
    }
    for (const [term, row] of stored.rare()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      offerRare(given.of(term), counts.readRow(row.packed), counts, wanted)
      for (const woeid of counts.regions())
        best.get(woeid)?.fresh.add(term, counts.sumIn(woeid, lastMinute - WINDOW_MINUTES + 1, lastMinute))
    }
    for (const [woeid, region] of exhausted) {
      const { fresh, known } = best.get(woeid)!
      take(reportOf(woeid, region, numbered(region, fresh), numbered(region, known), ranking))
      candidates = new Map()
      save(woeid)
    }
  }

  function numbered({ table }: RegionContenders, top: ExactTop): Best {
    const { terms, rest } = top.best()
    return { terms: terms.map((term) => table.add(given.of(term))), rest }
  }

  /** Creates the report about a region. */
  function reportOf(woeid: number, region: RegionContenders, fresh: Best, known: Best, ranking: Ranking): RegionReport {
    const { sent, looks } = region
    const { windowEnd } = ranking
    const drawnKnown = fresh.terms.length + drawnPerRegion
    const mayBeFolded = (i: number) => i < drawnPerRegion || (i >= fresh.terms.length && i < drawnKnown)
    const reported = [...fresh.terms, ...known.terms]
    lookAt(woeid, region, reported, (term, i) => sent.isDue(looks, term, windowEnd) || (!looks.hasDrawn(term) && mayBeFolded(i)))
    draw(
      woeid,
      region,
      reported.filter((_, i) => mayBeFolded(i)),
    )
    const head = { ...ranking, woeid, restNew: fresh.rest, restKnown: known.rest }
    const report = sent.write({ terms: reported, looks, candidates }, head, writer)
    region.ranked(reported)
    return report
  }

  return {
    prepare,
    /** Returns true if at least one region that tracks a rare term already has a baseline for it. */
    isKnownSomewhere: (tracked: readonly TrackedRegion[]) => tracked.some((region) => isKnownAt(region.hour, hour)),
    offerAgain,
    changed,
    changedRare,
    trackedRare,
    addedRare,
    rank,
    get contenders() {
      let sum = 0
      for (const region of byRegion.values()) sum += region.fresh.size + region.known.size
      return sum
    },
  }
}
