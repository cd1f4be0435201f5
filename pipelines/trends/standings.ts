import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { type HourlyUsual, isKnownAt, knownFrom, usualInWindow } from './baseline.ts'
import { type Best, type Contenders, contenders, type Evaluation, type Floor } from './contenders.ts'
import { drawFrom } from './drawn-tweets.ts'
import { exactTop } from './exact-top.ts'
import { candidateOfOnly, type OnlyTweet, onlyCountFrom, onlyUnchangedThrough } from './only-tweet.ts'
import { CellCounts } from './packed-cells.ts'
import type { TrackedRegion } from './rare-terms.ts'
import { type RegionReport, type ReportHead, reportWriter } from './region-report.ts'
import { KEPT_SAMPLES } from './samples.ts'
import type { Kind, savedStandings } from './saved-standings.ts'
import { trendScore } from './score.ts'
import { type Details, NOT_SENT, type SentDetails, sentDetails } from './sent-details.ts'
import type { StoredTerms } from './stored-terms.ts'
import { candidateOf, greatestCountFrom, unchangedThrough, windowCount } from './term-state.ts'
import { hourOfMinute, WINDOW_MINUTES } from './time.ts'

/**
 * Share of contenders to keep beyond the requested number. The surplus delays the next visit to all terms of a region.
 */
const SPARE_SHARE = 0.25
/**
 * Share of contenders with a baseline to keep beyond the requested number. It is larger than the share above, because
 * their bounds are looser: they are valid for up to two hours.
 */
const SPARE_SHARE_KNOWN = 3
/** Number of terms visited between two pauses. The pauses let the event loop send heartbeats. */
const TERMS_PER_PAUSE = 2_000
/** Number of evaluations kept per region in addition to the evaluations of the candidates. */
const MAX_SPARE_LOOKS = 128
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

/** Most terms are never among the best, so their text is read only when it is needed. */
interface Named {
  readonly term: string
}

/** The contents that all reports of a partition about one window have in common. */
export type Ranking = Pick<ReportHead, 'windowEnd' | 'partition' | 'missing'>

interface RegionContenders {
  readonly fresh: Contenders
  readonly known: Contenders
  /**
   * Evaluations of the last leading terms. Most of them are unchanged at the next renewal and do not have to be read
   * and decoded again.
   */
  looks: Map<string, Look>
  /** The contents of the reports so far. */
  readonly sent: SentDetails
}

/** The evaluation of a term. It is valid until something changes. */
interface Look extends Evaluation, Details {
  /** The value that ranks the term: its score if it has a baseline, or else its count. */
  value: number
  bound: number
  baseline: number
  tracked: boolean
  /** The usual counts of the term; undefined if it has no baseline. */
  readonly usual: HourlyUsual | undefined
  /** The greatest count that the term can have from now on without further contributions. */
  readonly greatest: number
  /** Newest bucket of the last window for which the evaluation is valid if no contribution arrives. */
  readonly through: number
}

const neverDue = () => false

/** The evaluation of a term that is not, or no longer, a contender of a kind. */
const NOTHING: Evaluation = { value: 0, bound: 0 }

/**
 * Tracks the leading terms of a partition in each region. Every change updates the standings, so a renewal does not
 * have to visit all terms. Terms without a baseline are ranked by count, because the divisor that turns their count
 * into a score is the same for all of them and is known only in the third stage. Terms with a baseline are ranked by
 * score. A term's kind changes only with the hour.
 *
 * Baselines change from minute to minute, so a score can rise without a contribution. The bound of a term with a
 * baseline is therefore its score by the lowest baseline up to the end of the next hour, and it must be offered again
 * in each hour (`offerAgain`).
 *
 * The standings are in memory and saved with each commit. A worker that starts loads the saved names, and the first
 * ranking evaluates them. If nothing was saved, `prepare` derives the standings from the stored terms.
 */
export function standings({ terms, usualOf, prefetchUsual, perRegion, drawnPerRegion, saved }: StandingsOptions) {
  const byRegion = new Map<number, RegionContenders>()
  const keep = Math.ceil(perRegion * (1 + SPARE_SHARE))
  const keepKnown = Math.ceil(perRegion * (1 + SPARE_SHARE_KNOWN))
  let built = false
  /** The counts of the rare term that is being visited. */
  const counts = new CellCounts()
  const writer = reportWriter()
  /** The hour (since 1970) to which the division into terms with and without a baseline applies. */
  let hour = 0
  /** The window's newest bucket at the last ranking. */
  let lastMinute = 0
  /** The last hour for which the bounds of all terms with a baseline are valid. */
  let coveredHour = 0
  /** Keys of the terms that will have a baseline, by the hour from which they have it. */
  const soonKnown = new Map<number, Set<string>>()
  /** The index of the next region to save. */
  let nextSaved = 0
  load()

  function load(): void {
    const loaded = saved.load()
    if (loaded === undefined) return
    lastMinute = loaded.minute
    hour = hourOfMinute(lastMinute)
    coveredHour = loaded.coveredHour
    for (const [woeid, { fresh, known }] of loaded.regions) {
      const region = regionContenders(woeid)
      region.fresh.load(fresh.terms, fresh.floor)
      region.known.load(known.terms, known.floor)
    }
    for (const [from, keys] of loaded.soonKnown) soonKnown.set(from, keys)
    built = true
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
    const added = {
      fresh: contenders(keep, listener('fresh')),
      known: contenders(keepKnown, listener('known')),
      looks: new Map(),
      sent: sentDetails(),
    }
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
    offerFresh(woeid, term, bound)
  }

  function offerKnown(woeid: number, term: string, state: TermState, key: string, bound: number): void {
    if (bound === 0 && !byRegion.has(woeid)) return
    const region = regionContenders(woeid)
    region.looks.delete(term)
    const least = bound === 0 ? 0 : (usualOf(key, state, lastMinute)?.least ?? 0)
    region.known.offer(term, trendScore(bound, least))
  }

  function noteSoonKnown(from: number, key: string): void {
    const keys = soonKnown.get(from) ?? new Set()
    soonKnown.set(from, keys)
    if (keys.has(key)) return
    keys.add(key)
    saved.willBeKnown(from, key)
  }

  function offerFresh(woeid: number, term: string, bound: number): void {
    if (bound === 0 && !byRegion.has(woeid)) return
    const region = regionContenders(woeid)
    region.looks.delete(term)
    region.fresh.offer(term, bound)
  }

  /**
   * Offers a rare term in the regions of a change. @param changed the counts whose regions need an offer, out of `all`
   * counts of the term
   */
  function offerRare(term: string, all: CellCounts, changed: CellCounts, isWanted?: ReadonlySet<number>): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of changed.regions()) {
      if (isWanted === undefined || isWanted.has(woeid)) offerFresh(woeid, term, all.sumIn(woeid, first, Infinity))
    }
  }

  /** Offers a term that had no state. It is no contender yet, so it is only compared with the region's floor. */
  function offerFirst(named: Named, counts: CellCounts): void {
    const first = lastMinute - WINDOW_MINUTES + 1
    for (const woeid of counts.regions()) {
      const count = counts.sumIn(woeid, first, Infinity)
      if (count === 0) continue
      const { fresh } = regionContenders(woeid)
      // Terms with the same count are ordered by their text, so the text is needed here.
      if (fresh.floor === undefined || count >= fresh.floor.value) fresh.offerNew(named.term, count)
    }
  }

  /**
   * Must be called before `rank`, with the same minute. Yields at intervals.
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
    for (const [woeid, term, state, key] of terms.frequent()) {
      offer(woeid, term, state, key)
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
    for (const [term, row] of terms.rare()) {
      offerRare(term, counts.readRow(row.packed), counts)
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
    for (const [woeid, term, state, key] of terms.frequent()) {
      if (isKnown(state)) offerKnown(woeid, term, state, key, greatestCountFrom(state, lastMinute))
      if (++visited % TERMS_PER_PAUSE === 0) yield
    }
  }

  /** Offers the terms that have had a baseline since this hour. */
  function* offerNewlyKnown(becomesKnown: (term: string) => void): Generator<void, void, void> {
    for (const [from, keys] of soonKnown) {
      if (from > hour) continue
      soonKnown.delete(from)
      saved.areKnown(from)
      let visited = 0
      for (const key of keys) {
        const term = termOfKey(key)
        becomesKnown(term)
        const [state] = terms.statesOf(woeidOfKey(key), [term])
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

  /** Must be called after contributions were added to a term. */
  function changed(woeid: number, term: string, state: TermState, key: string): void {
    if (built) offer(woeid, term, state, key)
  }

  /** Must be called after contributions were added to a rare term. */
  function changedRare(term: string, all: CellCounts, changed: CellCounts, tracked: readonly TrackedRegion[]): void {
    if (!built) return
    offerRare(term, all, changed)
    noteTracked(term, tracked)
  }

  /** Must be called when a region has begun to track a rare term. Nothing changes until the term has a baseline. */
  function trackedRare(term: string, { woeid, hour: since }: TrackedRegion): void {
    if (!built) return
    noteSoonKnown(knownFrom(since), termKey(woeid, term))
    const look = byRegion.get(woeid)?.looks.get(term)
    if (look !== undefined) look.tracked = true
  }

  function noteTracked(term: string, tracked: readonly TrackedRegion[]): void {
    for (const { woeid, hour: since } of tracked) noteSoonKnown(knownFrom(since), termKey(woeid, term))
  }

  /** Must be called with the first contributions to a term. */
  function addedRare(named: Named, counts: CellCounts): void {
    if (built) offerFirst(named, counts)
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
    const best = (kind: Kind) => region[kind].best(perRegion, (names) => evaluate(woeid, region, names, kind))
    const fresh = best('fresh')
    const known = best('known')
    return fresh && known && reportOf(woeid, region, fresh, known, ranking)
  }

  function evaluate(woeid: number, region: RegionContenders, names: readonly string[], kind: Kind): Evaluation[] {
    lookAt(woeid, region, names, neverDue)
    return names.map((term) => {
      const look = region.looks.get(term)
      // At the beginning of an hour, a term may have got or lost its baseline. It was then offered among the terms of
      // its new kind.
      return look === undefined || (look.usual === undefined) !== (kind === 'fresh') ? NOTHING : look
    })
  }

  /**
   * Reads and evaluates the terms whose evaluation is missing or may have changed.
   * @param isDue returns true if the details of a term must be sent
   */
  function lookAt(woeid: number, region: RegionContenders, names: readonly string[], isDue: (look: Look, index: number) => boolean): void {
    const { looks } = region
    const changedOnes: string[] = []
    for (let i = 0; i < names.length; i++) {
      const term = names[i]
      const look = looks.get(term)
      if (look === undefined || look.through < lastMinute || (look.candidate === undefined && isDue(look, i))) changedOnes.push(term)
      else if (look.usual !== undefined) renew(look, look.usual)
    }
    if (changedOnes.length === 0) return
    const all = terms.found(woeid, changedOnes)
    prefetchUsual(
      changedOnes.flatMap((term, i) => {
        const found = all[i]
        return found !== undefined && !('tweet' in found) && isKnown(found) ? termKey(woeid, term) : []
      }),
    )
    for (const [i, term] of changedOnes.entries()) {
      const found = all[i]
      if (found === undefined) looks.delete(term)
      else looks.set(term, 'tweet' in found ? lookOfOnly(term, found) : lookOf(woeid, term, found))
    }
  }

  /** The baseline, and the score with it, changes from minute to minute. */
  function renew(look: Look, usual: HourlyUsual): void {
    look.baseline = usualInWindow(usual, lastMinute)
    look.value = worthOf(look.count, look.baseline)
    look.bound = trendScore(look.greatest, usual.least)
  }

  /** Returns the value that ranks a term among terms with a baseline. */
  function worthOf(count: number, baseline: number): number {
    return count === 0 ? 0 : trendScore(count, baseline)
  }

  /**
   * Returns the evaluation of a rare term, which has no baseline. A term is always stored as frequent before it needs a
   * baseline.
   */
  function lookOfOnly(term: string, only: OnlyTweet): Look {
    const candidate = candidateOfOnly(term, only, lastMinute)
    const { count, baseline, tracked } = candidate
    const greatest = onlyCountFrom(only, lastMinute)
    const through = onlyUnchangedThrough(only, lastMinute)
    return {
      ...NOT_SENT,
      candidate,
      hasDrawn: true,
      count,
      baseline,
      tracked,
      usual: undefined,
      greatest,
      value: count,
      bound: greatest,
      through,
    }
  }

  function lookOf(woeid: number, term: string, state: TermState): Look {
    const greatest = greatestCountFrom(state, lastMinute)
    // A term that no window will contain is not a contender of either kind. It may be a rare term, which has no
    // baseline.
    const usual = greatest > 0 && isKnown(state) ? usualOf(termKey(woeid, term), state, lastMinute) : undefined
    const baseline = usual && usualInWindow(usual, lastMinute)
    const candidate = candidateOf(term, state, windowCount(state, lastMinute), baseline, lastMinute)
    // The tweets of these candidates are drawn now, because reading the states again later would cost more. Most
    // candidates have few tweets.
    const hasDrawn = state.samples.length < KEPT_SAMPLES
    if (hasDrawn) candidate.drawn = drawnOf(state)
    const { count, tracked } = candidate
    const through = unchangedThrough(state, lastMinute)
    const look = {
      ...NOT_SENT,
      candidate,
      hasDrawn,
      count,
      baseline: candidate.baseline,
      tracked,
      usual,
      greatest,
      value: count,
      bound: greatest,
      through,
    }
    if (usual !== undefined) renew(look, usual)
    return look
  }

  function drawnOf({ samples, drawn }: TermState): readonly bigint[] {
    return drawFrom(samples, drawn, lastMinute - WINDOW_MINUTES + 1)
  }

  /** Adds drawn tweets to the candidates that may be among the best of the region. */
  function draw(woeid: number, { looks }: RegionContenders, names: readonly string[]): void {
    const open = names.filter((term) => !looks.get(term)!.hasDrawn)
    if (open.length === 0) return
    const states = terms.statesOf(woeid, open)
    for (const [i, term] of open.entries()) {
      const look = looks.get(term)!
      look.candidate!.drawn = drawnOf(states[i]!)
      look.hasDrawn = true
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
    for (const [woeid, term, state, key] of terms.frequent()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      const tops = best.get(woeid)
      if (tops === undefined) continue
      offer(woeid, term, state, key)
      const count = windowCount(state, lastMinute)
      const usual = isKnown(state) ? usualOf(key, state, lastMinute) : undefined
      if (usual === undefined) tops.fresh.add(term, count)
      else tops.known.add(term, trendScore(count, usualInWindow(usual, lastMinute)))
    }
    for (const [term, row] of terms.rare()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      offerRare(term, counts.readRow(row.packed), counts, wanted)
      for (const woeid of counts.regions())
        best.get(woeid)?.fresh.add(term, counts.sumIn(woeid, lastMinute - WINDOW_MINUTES + 1, lastMinute))
    }
    for (const [woeid, region] of exhausted) {
      const { fresh, known } = best.get(woeid)!
      take(reportOf(woeid, region, fresh.best(), known.best(), ranking))
      save(woeid)
    }
  }

  /** Creates the report about a region. */
  function reportOf(woeid: number, region: RegionContenders, fresh: Best, known: Best, ranking: Ranking): RegionReport {
    const { sent } = region
    const { windowEnd } = ranking
    const drawnKnown = fresh.terms.length + drawnPerRegion
    const mayBeFolded = (i: number) => i < drawnPerRegion || (i >= fresh.terms.length && i < drawnKnown)
    const names = [...fresh.terms, ...known.terms]
    lookAt(woeid, region, names, (look, i) => sent.isDue(look, windowEnd) || (!look.hasDrawn && mayBeFolded(i)))
    draw(
      woeid,
      region,
      names.filter((_, i) => mayBeFolded(i)),
    )
    const looks = names.map((term) => region.looks.get(term)!)
    forgetLooks(region, names)
    return sent.write(looks, { ...ranking, woeid, restNew: fresh.rest, restKnown: known.rest }, writer)
  }

  /** Forgets unneeded evaluations when they outnumber the evaluations of the candidates. */
  function forgetLooks(region: RegionContenders, candidates: readonly string[]): void {
    const { looks } = region
    if (looks.size > MAX_SPARE_LOOKS + candidates.length) region.looks = new Map(candidates.map((term) => [term, looks.get(term)!]))
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
