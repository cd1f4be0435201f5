import type { RegionCandidates, RegionHistory, TermTracked, TrendingSince, TrendOutput } from '../../schemas/trends/types.ts'
import type { Context, KeyedStore, Topic } from '../engine/index.ts'
import { entryOf, KEPT_TERMS, rankTerms } from './ranking.ts'
import { historyAfter, mayLabel, meanOfNewTerms } from './region-history.ts'
import { trendScore } from './score.ts'
import { MINUTE_MS } from './time.ts'
import { noteTrending, SERVED_TERMS } from './trending-since.ts'

/** Number of lists made between two pauses. The pauses let the event loop send heartbeats. */
const LISTS_PER_PAUSE = 16

export interface RegionListsOptions {
  /** The report of each partition, by `arrivalKey`. */
  readonly arrived: KeyedStore<string, RegionCandidates>
  readonly history: KeyedStore<number, RegionHistory>
  readonly since: KeyedStore<number, TrendingSince>
  readonly tracked: Topic<string, TermTracked>
  /** Topic of the lists at whole minutes. */
  readonly snapshots: Topic<number, TrendOutput>
  /** Topic of the lists in between. */
  readonly renewals: Topic<number, TrendOutput>
}

/**
 * Partitions progress independently, so one may report the next window before another has reported this one. Each
 * report has a separate key, so that it is written once as received, and read only when its window is complete.
 * Reports of one region and window are adjacent.
 */
function arrivalKey({ window_end, woeid, partition }: RegionCandidates): string {
  return `${window_end}:${woeid}:${partition}`
}

/** Creates the third stage: one partition of the regions, with their ranked lists. */
export function regionLists(options: RegionListsOptions) {
  const { arrived, history, since, tracked, snapshots, renewals } = options

  function arrive(report: RegionCandidates): void {
    arrived.put(arrivalKey(report), report)
  }

  /** Call it when every partition has reported the window that ends at `windowEnd`. */
  function* publish(windowEnd: number, ctx: Context): Generator<void, void, void> {
    let made = 0
    let region: RegionCandidates | undefined
    for (const [key, report] of arrived.scan()) {
      if (report.window_end > windowEnd) break
      arrived.delete(key)
      if (report.window_end < windowEnd) continue
      if (region?.woeid === report.woeid) {
        region = together(region, report)
        continue
      }
      if (region !== undefined) {
        publishRegion(region, ctx)
        if (++made % LISTS_PER_PAUSE === 0) yield
      }
      region = report
    }
    if (region !== undefined) publishRegion(region, ctx)
  }

  function publishRegion(report: RegionCandidates, ctx: Context): void {
    const { woeid, window_end } = report
    const known = history.get(woeid)
    const mean = meanOfNewTerms(known, window_end)
    const ranked = rankTerms(report.entries, mean)
    const next = historyAfter(known, ranked, window_end)
    if (next !== undefined) history.put(woeid, next)
    countUncertain(report, ranked.at(KEPT_TERMS - 1)?.score ?? 0, mean, ctx)
    const trending = sinceWhen(
      woeid,
      ranked.slice(0, SERVED_TERMS).map(({ candidate }) => candidate.term),
      window_end,
    )
    const labels = mayLabel(known, window_end)
    const entries = ranked.map((term) => entryOf(term, trending.get(term.candidate.term) ?? window_end, labels))
    ctx.emit(window_end % MINUTE_MS === 0 ? snapshots : renewals, woeid, { woeid, window_end, source: 'pipeline', entries })
    for (const { candidate } of ranked) if (!candidate.tracked) ctx.emit(tracked, candidate.term, { woeid, window_end })
  }

  function sinceWhen(woeid: number, served: readonly string[], windowEnd: number): ReadonlyMap<string, number> {
    const known = since.get(woeid) ?? { terms: [] }
    const { since: found, changed } = noteTrending(known, served, windowEnd)
    if (!changed) return found
    if (known.terms.length === 0) since.delete(woeid)
    else since.put(woeid, known)
    return found
  }

  /** Counts lists whose last ranks may be wrong because a partition omitted a term. */
  function countUncertain({ rest_new, rest_known }: RegionCandidates, leastScore: number, mean: number, ctx: Context): void {
    if (trendScore(rest_new, mean) > leastScore || rest_known > leastScore) ctx.count('trends_lists_with_uncertain_tail')
  }

  return { arrive, publish }
}

function together(known: RegionCandidates, report: RegionCandidates): RegionCandidates {
  return {
    ...known,
    entries: known.entries.concat(report.entries),
    rest_new: Math.max(known.rest_new, report.rest_new),
    rest_known: Math.max(known.rest_known, report.rest_known),
  }
}
