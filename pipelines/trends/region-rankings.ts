import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { usualInWindow } from './baseline.ts'
import type { TrendCandidate } from './candidate.ts'
import type { Best, Evaluator } from './contenders.ts'
import { drawFrom } from './drawn-tweets.ts'
import { type ExactTop, exactTop } from './exact-top.ts'
import type { LeadingTerms, LeadingTermsOptions } from './leading-terms.ts'
import type { Look } from './looks.ts'
import { candidateOfOnly, type OnlyTweet, onlyCountFrom, onlyUnchangedThrough } from './only-tweet.ts'
import { CellCounts } from './packed-cells.ts'
import type { RegionContenders } from './region-contenders.ts'
import { type RegionReport, type ReportHead, reportWriter } from './region-report.ts'
import { KEPT_SAMPLES, SAMPLE_BYTES, sampledTweets } from './samples.ts'
import type { Kind } from './saved-standings.ts'
import { trendScore } from './score.ts'
import { type StoredTerms, TERMS_PER_PAUSE } from './stored-terms.ts'
import { candidateOf, greatestCountFrom, unchangedThrough, windowCount } from './term-state.ts'
import { TextBytes } from './term-table.ts'
import { WINDOW_MINUTES } from './time.ts'

/**
 * The contenders of a region are about to run out when their surplus is less than this share of the requested number.
 * After terms without a baseline have been collected, their surplus is twice this share (`SPARE_SHARE` in
 * leading-terms.ts).
 */
const RESERVE_SHARE = 0.25
/** Number of regions ranked between two pauses. The pauses let the event loop send heartbeats. */
const REGIONS_PER_PAUSE = 8

export interface RegionRankingsOptions extends Pick<LeadingTermsOptions, 'usualOf' | 'perRegion'> {
  readonly leading: LeadingTerms
  readonly terms: StoredTerms
  /** Reads in one batch the values that `usualOf` will need. */
  readonly prefetchUsual: (keys: readonly string[]) => void
  /** Number of the best candidates of each kind that are always reported with drawn tweets. */
  readonly drawnPerRegion: number
  /** Called with each region whose contenders are about to run out. */
  readonly isLow: (woeid: number, region: RegionContenders) => void
}

/** The fields that all reports of a partition about one window have in common. */
export type Ranking = Pick<ReportHead, 'windowEnd' | 'partition' | 'missing'>

const neverDue = () => false

/**
 * Ranks the leading terms of each region, and reports the best of them. If too few leading terms are left in a region,
 * all stored terms are visited instead.
 */
export function regionRankings(options: RegionRankingsOptions) {
  const { leading, terms: stored, usualOf, prefetchUsual, perRegion, drawnPerRegion, isLow } = options
  const reserve = Math.ceil(perRegion * RESERVE_SHARE)
  const writer = reportWriter()
  const given = new TextBytes()
  /** The counts of the rare term that is being visited. */
  const counts = new CellCounts()
  /**
   * The candidates of the region that is being ranked, by term number. Candidates whose details were already sent are
   * left out.
   */
  let candidates = new Map<number, TrendCandidate>()

  /**
   * Reports the candidates of every region in `leading.byRegion`. Yields at intervals.
   * @param take receives the reports. The bytes of a report are valid until `take` returns
   * @param revisited called for each region whose terms were all visited
   */
  function* rank(ranking: Ranking, take: (report: RegionReport) => void, revisited: (woeid: number) => void): Generator<void, void, void> {
    let ranked = 0
    const exhausted = new Map<number, RegionContenders>()
    for (const { woeid } of regions) {
      const region = leading.byRegion.get(woeid)
      if (region === undefined) continue
      const report = rankRegion(woeid, region, ranking)
      if (report === undefined) exhausted.set(woeid, region)
      else take(report)
      if (++ranked % REGIONS_PER_PAUSE === 0) yield
    }
    if (exhausted.size > 0) yield* revisit(exhausted, ranking, take, revisited)
  }

  /** Ranks the terms of a region. Returns undefined if all terms of the region must be visited. */
  function rankRegion(woeid: number, region: RegionContenders, ranking: Ranking): RegionReport | undefined {
    const best = (kind: Kind) => region[kind].best(perRegion, evaluatorOf(woeid, region, kind), reserve)
    const fresh = best('fresh')
    const known = best('known')
    const report = fresh && known && reportOf(woeid, region, fresh, known, ranking)
    candidates = new Map()
    if (report !== undefined && (region.fresh.isLow || region.known.isLow)) isLow(woeid, region)
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
   * Reads and evaluates the terms whose evaluation is missing or may have changed, or whose details are due. For all
   * other terms, only updates the baselines.
   * @param isDue returns true if the details of a term must be sent
   */
  function lookAt(
    woeid: number,
    { looks, table }: RegionContenders,
    terms: readonly number[],
    isDue: (term: number, index: number) => boolean,
  ): void {
    const { lastMinute } = leading
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
        return found !== undefined && !('tweet' in found) && leading.isKnown(found) ? termKey(woeid, name) : []
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
   * Returns the evaluation of a rare term with a single contribution. Rare terms have no baseline, because a term
   * always becomes frequent before it needs one.
   */
  function lookOfOnly(name: string, only: OnlyTweet): Look & { candidate: TrendCandidate } {
    const { lastMinute } = leading
    const candidate = candidateOfOnly(name, only, lastMinute)
    const { count, tracked } = candidate
    const greatest = onlyCountFrom(only, lastMinute)
    return { candidate, count, greatest, tracked, usual: undefined, hasDrawn: true, through: onlyUnchangedThrough(only, lastMinute) }
  }

  function lookOf(woeid: number, name: string, state: TermState): Look & { candidate: TrendCandidate } {
    const { lastMinute } = leading
    const greatest = greatestCountFrom(state, lastMinute)
    // A term without contributions in this window or a later one is not a contender of either kind, so it needs no
    // usual counts. Such a term may also be rare, and rare terms have no baseline.
    const usual = greatest > 0 && leading.isKnown(state) ? usualOf(termKey(woeid, name), state, lastMinute) : undefined
    const baseline = usual && usualInWindow(usual, lastMinute)
    const candidate = candidateOf(name, state, windowCount(state, lastMinute), baseline, lastMinute)
    // The tweets of a term with few tweets are drawn now, because reading the state again later would cost more. Most
    // candidates have few tweets.
    const hasDrawn = state.samples.length < KEPT_SAMPLES * SAMPLE_BYTES
    if (hasDrawn) candidate.drawn = drawnOf(state)
    const { count, tracked } = candidate
    return { candidate, count, greatest, tracked, usual, hasDrawn, through: unchangedThrough(state, lastMinute) }
  }

  function drawnOf({ samples, drawn }: TermState): readonly bigint[] {
    return drawFrom(sampledTweets(samples), drawn, leading.lastMinute - WINDOW_MINUTES + 1)
  }

  /** Adds drawn tweets to those candidates of the given terms that do not have them yet. */
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
   * Visits all terms once for the regions that have too few contenders, or too many contenders whose contributions are
   * all in the future. Yields at intervals.
   */
  function* revisit(
    exhausted: ReadonlyMap<number, RegionContenders>,
    ranking: Ranking,
    take: (report: RegionReport) => void,
    revisited: (woeid: number) => void,
  ): Generator<void, void, void> {
    const { lastMinute } = leading
    const best = new Map([...exhausted.keys()].map((woeid) => [woeid, { fresh: exactTop(perRegion), known: exactTop(perRegion) }]))
    const wanted = new Set(exhausted.keys())
    for (const region of exhausted.values()) region.restart()
    let visited = 0
    for (const [woeid, term, state, key] of stored.frequent()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      const tops = best.get(woeid)
      if (tops === undefined) continue
      leading.offer(woeid, term, state, key)
      const count = windowCount(state, lastMinute)
      const usual = leading.isKnown(state) ? usualOf(key, state, lastMinute) : undefined
      if (usual === undefined) tops.fresh.add(term, count)
      else tops.known.add(term, trendScore(count, usualInWindow(usual, lastMinute)))
    }
    for (const [term, row] of stored.rare()) {
      if (++visited % TERMS_PER_PAUSE === 0) yield
      leading.offerRare(given.of(term), counts.readRow(row.packed), counts, wanted)
      for (const woeid of counts.regions())
        best.get(woeid)?.fresh.add(term, counts.sumIn(woeid, lastMinute - WINDOW_MINUTES + 1, lastMinute))
    }
    for (const [woeid, region] of exhausted) {
      const { fresh, known } = best.get(woeid)!
      take(reportOf(woeid, region, numbered(region, fresh), numbered(region, known), ranking))
      candidates = new Map()
      revisited(woeid)
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

  return { rank }
}
