import { partitionFor } from '../../kafka/partitioner.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import type { RegionCandidates, RegionHistory, TermTracked, TrendingSince, TrendOutput } from '../../schemas/trends/types.ts'
import type { Context, KeyedStore, TimeContext, Topic } from '../engine/index.ts'
import { entryOf, type Standing } from './entry.ts'
import { foldTopics, type Topic as RankedTopic } from './fold.ts'
import { earlierAfter, rankChanges } from './rank-changes.ts'
import { KEPT_TERMS, rankTerms } from './ranking.ts'
import { historyAfter, mayLabel, meanOfNewTerms } from './region-history.ts'
import { trendScore } from './score.ts'
import { MINUTE_MS } from './time.ts'
import { noteTrending, SERVED_TERMS, type TopicTerms } from './trending-since.ts'

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
  /** Topic of the lists at half minutes. */
  readonly renewals: Topic<number, TrendOutput>
}

/**
 * Returns the key of a report. Partitions progress independently, so one partition may report the next window before
 * another has reported the current one. Each report has a separate key, so that it is written once as received, and
 * read only when its window is complete. Reports of one region and window are adjacent.
 */
function arrivalKey({ window_end, woeid, partition }: RegionCandidates): string {
  return `${window_end}:${woeid}:${partition}`
}

/** Creates the third stage, which makes the ranked lists of the regions in one partition. */
export function regionLists(options: RegionListsOptions) {
  const { arrived, history, since, tracked, snapshots, renewals } = options
  let own: readonly number[] | undefined

  function arrive(report: RegionCandidates): void {
    arrived.put(arrivalKey(report), report)
  }

  /** Publishes the lists. Must be called when the partitions have reported the window that ends at `windowEnd`. */
  function* publish(windowEnd: number, ctx: TimeContext): Generator<void, void, void> {
    let made = 0
    let region: RegionCandidates | undefined
    const listed = new Set<number>()
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
      listed.add(report.woeid)
    }
    if (region !== undefined) publishRegion(region, ctx)
    if (ctx.missing === 0) return
    // A missing partition cannot report its regions without tweets, and no other partition reports them.
    for (const woeid of ownRegions(ctx)) if (!listed.has(woeid)) publishRegion(noCandidates(woeid, windowEnd), ctx)
  }

  /** Returns the regions whose reports arrive in this partition. */
  function ownRegions(ctx: Context): readonly number[] {
    own ??= regions.map(({ woeid }) => woeid).filter((woeid) => partitionFor(Buffer.from(String(woeid)), ctx.partitions) === ctx.partition)
    return own
  }

  function publishRegion(report: RegionCandidates, ctx: TimeContext): void {
    const { woeid, window_end } = report
    const missing = ctx.missing + report.missing_partitions
    const known = history.get(woeid)
    const mean = meanOfNewTerms(known, window_end)
    const ranked = rankTerms(report.entries, mean)
    const next = missing > 0 ? undefined : historyAfter(known, ranked, window_end)
    if (next !== undefined) history.put(woeid, next)
    countUncertain(report, ranked.at(KEPT_TERMS - 1)?.score ?? 0, mean, ctx)
    const topics = foldTopics(ranked)
    const standingOf = noteServed(woeid, topics.slice(0, SERVED_TERMS).map(termsOf), window_end, missing === 0)
    const labels = mayLabel(known, window_end)
    const entries = topics.map((topic) => entryOf(topic, standingOf(topic.leader.candidate.term), labels))
    const list: TrendOutput = { woeid, window_end, source: 'pipeline', missing_partitions: missing, entries }
    ctx.emit(window_end % MINUTE_MS === 0 ? snapshots : renewals, woeid, list)
    if (missing > 0) {
      ctx.count('trends_incomplete_lists')
      return
    }
    for (const { candidate } of ranked) if (!candidate.tracked) ctx.emit(tracked, candidate.term, { woeid, window_end })
  }

  /**
   * Records the served topics of a list. @param isComplete An incomplete list begins and ends no trend, and no later
   * list is compared with it.
   */
  function noteServed(woeid: number, served: readonly TopicTerms[], windowEnd: number, isComplete: boolean): (term: string) => Standing {
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
    return function standingOf(term) {
      const trend = trends.get(term)
      return {
        trendingSince: trend?.since ?? windowEnd,
        rankChange: changes.get(term) ?? null,
        peakRank: trend?.peakRank ?? null,
      }
    }
  }

  /** Counts lists whose last ranks may be wrong because a partition omitted a term. */
  function countUncertain({ rest_new, rest_known }: RegionCandidates, leastScore: number, mean: number, ctx: Context): void {
    if (trendScore(rest_new, mean) > leastScore || rest_known > leastScore) ctx.count('trends_lists_with_uncertain_tail')
  }

  return { arrive, publish }
}

function termsOf({ leader, variants }: RankedTopic): TopicTerms {
  return [leader, ...variants].map(({ candidate }) => candidate.term)
}

function together(known: RegionCandidates, report: RegionCandidates): RegionCandidates {
  return {
    ...known,
    entries: known.entries.concat(report.entries),
    missing_partitions: Math.max(known.missing_partitions, report.missing_partitions),
    rest_new: Math.max(known.rest_new, report.rest_new),
    rest_known: Math.max(known.rest_known, report.rest_known),
  }
}

function noCandidates(woeid: number, windowEnd: number): RegionCandidates {
  return { woeid, window_end: windowEnd, partition: 0, missing_partitions: 0, entries: [], rest_new: 0, rest_known: 0 }
}
