import { partitionFor } from '../../kafka/partitioner.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import type { RegionHistory, TermTracked, TrendingSince, TrendOutput } from '../../schemas/trends/types.ts'
import type { Context, EncodedBody, KeyedStore, TimeContext, Topic } from '../engine/index.ts'
import { foldTopics, type Topic as RankedTopic } from './fold.ts'
import { listWriter, type Standing } from './list-body.ts'
import { earlierAfter, rankChanges } from './rank-changes.ts'
import { KEPT_TERMS } from './ranking.ts'
import { historyAfter, mayLabel, meanOfNewTerms } from './region-history.ts'
import type { RegionReport } from './region-report.ts'
import { type RegionReports, regionReports } from './region-reports.ts'
import { trendScore } from './score.ts'
import { MINUTE_MS } from './time.ts'
import { noteTrending, SERVED_TERMS, type TopicTerms } from './trending-since.ts'

/** Number of lists made between two pauses. The pauses let the event loop send heartbeats. */
const LISTS_PER_PAUSE = 16

export interface RegionListsOptions {
  /** The reports that the partitions of the second stage have sent. */
  readonly arrived: KeyedStore<string, RegionReport>
  readonly history: KeyedStore<number, RegionHistory>
  readonly since: KeyedStore<number, TrendingSince>
  readonly tracked: Topic<string, TermTracked>
  /** Topic of the lists at whole minutes. */
  readonly snapshots: Topic<number, TrendOutput | EncodedBody>
  /** Topic of the lists at half minutes. */
  readonly renewals: Topic<number, TrendOutput | EncodedBody>
}

/** Creates the third stage, which makes the ranked lists of the regions in one partition. */
export function regionLists(options: RegionListsOptions) {
  const { arrived, history, since, tracked, snapshots, renewals } = options
  const lists = listWriter()
  let own: readonly number[] | undefined
  let context: Context | undefined
  const reports: RegionReports = regionReports(arrived, () => context?.count('trends_candidates_without_details'))

  function arrive(report: RegionReport): void {
    reports.take(report)
  }

  /**
   * Publishes the lists of a window. Must be called when the partitions have reported the window that ends at
   * `windowEnd`.
   */
  function* publish(windowEnd: number, ctx: TimeContext): Generator<void, void, void> {
    let made = 0
    for (const woeid of ownRegions(ctx)) {
      const reported = reports.ofWindow(woeid, windowEnd)
      // The partitions divide the regions without tweets among themselves. A missing partition does not report its
      // regions, so the lists of these regions are made without a report.
      if (reported.length === 0 && ctx.missing === 0) continue
      publishRegion(woeid, windowEnd, reported, ctx)
      reports.published(reported)
      if (++made % LISTS_PER_PAUSE === 0) yield
    }
  }

  /** Returns the regions whose reports arrive in this partition. */
  function ownRegions(ctx: Context): readonly number[] {
    own ??= regions.map(({ woeid }) => woeid).filter((woeid) => partitionFor(Buffer.from(String(woeid)), ctx.partitions) === ctx.partition)
    return own
  }

  function publishRegion(woeid: number, windowEnd: number, reported: readonly RegionReport[], ctx: TimeContext): void {
    const missing = ctx.missing + greatest(reported, (report) => report.missing)
    const known = history.get(woeid)
    const mean = meanOfNewTerms(known, windowEnd)
    context = ctx
    const ranked = reports.rank(reported, mean)
    const next = missing > 0 ? undefined : historyAfter(known, ranked, windowEnd)
    if (next !== undefined) history.put(woeid, next)
    countUncertain(reported, ranked.at(KEPT_TERMS - 1)?.score ?? 0, mean, ctx)
    const topics = foldTopics(ranked)
    const standings = noteServed(woeid, topics.slice(0, SERVED_TERMS).map(termsOf), windowEnd, missing === 0)
    const head = { woeid, windowEnd, missing, meanOfNewTerms: mean, mayLabel: mayLabel(known, windowEnd) }
    const notServed: Standing = { trendingSince: windowEnd, rankChange: null, peakRank: null }
    const list = lists.write(head, topics, (_topic, rank) => standings[rank - 1] ?? notServed)
    ctx.emit(windowEnd % MINUTE_MS === 0 ? snapshots : renewals, woeid, list)
    if (missing > 0) {
      ctx.count('trends_incomplete_lists')
      return
    }
    for (const term of ranked) if (!term.tracked) ctx.emit(tracked, term.details.term, { woeid, window_end: windowEnd })
  }

  /**
   * Records the served topics of a list.
   * @param isComplete false if partitions are missing. Such a list neither begins nor ends a trend, and no later list
   * is compared with it
   * @returns the standings of the served topics, in their order
   */
  function noteServed(woeid: number, served: readonly TopicTerms[], windowEnd: number, isComplete: boolean): Standing[] {
    const known = since.get(woeid) ?? { terms: [], earlier: [] }
    const changes = rankChanges(known.earlier, served, windowEnd)
    const { trends, changed } = noteTrending(isComplete ? known : { ...known }, served, windowEnd)
    const leaders = served.map(([leader]) => leader)
    const earlier = earlierAfter(known.earlier, leaders, windowEnd)
    if (isComplete && (changed || earlier !== known.earlier)) {
      known.earlier = earlier
      if (known.terms.length === 0 && earlier.length === 0) since.delete(woeid)
      else since.put(woeid, known)
    }
    return leaders.map((term): Standing => {
      const trend = trends.get(term)
      return {
        trendingSince: trend?.since ?? windowEnd,
        rankChange: changes.get(term) ?? null,
        peakRank: trend?.peakRank ?? null,
      }
    })
  }

  /** Counts lists whose last ranks may be wrong because a partition omitted a term. */
  function countUncertain(reported: readonly RegionReport[], leastScore: number, mean: number, ctx: Context): void {
    const restNew = greatest(reported, (report) => report.restNew)
    const restKnown = greatest(reported, (report) => report.restKnown)
    if (trendScore(restNew, mean) > leastScore || restKnown > leastScore) ctx.count('trends_lists_with_uncertain_tail')
  }

  return { arrive, publish }
}

function termsOf({ leader, variants }: RankedTopic): TopicTerms {
  return [leader, ...variants].map(({ details }) => details.term)
}

function greatest(reports: readonly RegionReport[], of: (report: RegionReport) => number): number {
  return Math.max(0, ...reports.map(of))
}
