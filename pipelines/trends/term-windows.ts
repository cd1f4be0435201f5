import { regions } from '../../schemas/trends/places/regions.ts'
import { termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type {
  RegionCandidates,
  TermBaseline,
  TermCounts,
  TermState,
  TermTracked,
  TrendVolume,
  VolumesRound,
} from '../../schemas/trends/types.ts'
import { eachBucket } from '../../state/stores/buckets.ts'
import { type Context, type KeyedStore, type RecordContext, sweep, type Topic } from '../engine/index.ts'
import { learn, newBaseline, usualAt } from './baseline.ts'
import { candidatesPerPartition } from './ranking.ts'
import { type RegionStanding, standings } from './standings.ts'
import { applyCounts, isSilent, newTermState } from './term-state.ts'
import { hourOfMinute, lastFinalHour, lastMinuteOf, MINUTE_MS } from './time.ts'
import { type PublishVolume, volumeRounds } from './volumes.ts'

/** A baseline is deleted after four silent weeks, when its means have decayed to a quarter. */
const BASELINE_KEPT_HOURS = 4 * 7 * 24
/**
 * Keys visited per renewal, so that each hour's sweep covers up to four million terms per partition at 1-3 µs each.
 */
const TERMS_SWEPT = 32_768
const BASELINES_SWEPT = 16_384

export interface TermWindowsOptions {
  readonly terms: KeyedStore<string, TermState>
  readonly baselines: KeyedStore<string, TermBaseline>
  readonly volumesRound: KeyedStore<string, VolumesRound>
  readonly candidates: Topic<number, RegionCandidates>
  readonly volumes: Topic<string, TrendVolume>
}

/** Creates the second stage: one partition of all regions' terms, with their windows, baselines and volumes. */
export function termWindows(options: TermWindowsOptions) {
  const { terms, baselines, candidates, volumes } = options
  const rounds = volumeRounds(options.volumesRound)
  let standing: ReturnType<typeof standings> | undefined
  /** The hour of the last report. Terms are deleted when they have been silent for a day before it. */
  let reportedHour = 0
  /**
   * The newest hour that is final in all partitions of the first stage; 0 after a start, until a window is closed. A
   * term's own newest hour says nothing about it, because after a stop partitions progress at unequal speed.
   */
  let finalHour = 0
  const termSweep = sweep(terms, { keysPerRun: TERMS_SWEPT, isExpired: isTermExpired })
  const baselineSweep = sweep(baselines, {
    keysPerRun: BASELINES_SWEPT,
    isExpired: (_key, baseline) => baseline.seen_hour < reportedHour - BASELINE_KEPT_HOURS,
  })

  /** Created when the number of partitions is known. */
  function leadersOf({ partitions }: Context): ReturnType<typeof standings> {
    standing ??= standings({ terms, usualOf, prefetchUsual, perRegion: candidatesPerPartition(partitions) })
    return standing
  }

  function usualOf(key: string, hour: number): number {
    const baseline = baselines.get(key)
    return (baseline && usualAt(baseline, hour)) ?? 0
  }

  /**
   * Prefetches the state that `count` and `track` will read, and also the baseline, because a term without state may
   * have one, and single reads cost ten times as much.
   */
  function prefetch(key: string): void {
    terms.prefetch(key)
    baselines.prefetch(key)
  }

  function prefetchUsual(keys: readonly string[]): void {
    for (const key of keys) baselines.prefetch(key)
    baselines.loadPrefetched()
  }

  function count(counts: TermCounts, ctx: RecordContext<string>): void {
    const { key } = ctx
    const leaders = leadersOf(ctx)
    const state = terms.get(key) ?? returningTerm(key)
    applyCounts(state, counts, {
      added(minute, volume) {
        if (volume === 0) ctx.count('trends_minutes_too_old')
        else rounds.changed(key, state, minute, volume)
      },
      droppingHour: (hour) => learnHours(key, state, hour),
      dropping: (minute, volume) => rounds.dropping(key, state, minute, volume, publishTo(ctx)),
    })
    learnHours(key, state, finalHour)
    terms.put(key, state)
    leaders.changed(woeidOfKey(key), termOfKey(key), state)
  }

  /** A term without state may have a baseline from earlier days. */
  function returningTerm(key: string): TermState {
    const state = newTermState()
    const baseline = baselines.get(key)
    // The first state learned all its hours before it expired.
    state.tracked_hour = baseline?.since_hour ?? 0
    state.learned_hour = baseline?.seen_hour ?? 0
    return state
  }

  function learnHours(key: string, state: TermState, upTo: number): void {
    if (state.tracked_hour === 0 || upTo <= state.learned_hour) return
    const from = Math.max(state.learned_hour + 1, state.tracked_hour)
    state.learned_hour = upTo
    const baseline = baselines.get(key) ?? newBaseline(state.tracked_hour)
    let learned = false
    eachBucket(state.hours, (hour, volume) => {
      if (hour < from || hour > upTo) return
      learn(baseline, hour, volume)
      learned = true
    })
    if (learned) baselines.put(key, baseline)
  }

  function track({ window_end }: TermTracked, ctx: RecordContext<string>): void {
    const { key } = ctx
    const state = terms.get(key)
    if (state === undefined || state.tracked_hour !== 0) return
    const hour = hourOfMinute(lastMinuteOf(window_end))
    const baseline = baselines.get(key) ?? newBaseline(hour)
    baselines.put(key, baseline)
    state.tracked_hour = baseline.since_hour
    state.learned_hour = Math.max(state.learned_hour, hour - 1)
    terms.put(key, state)
    leadersOf(ctx).changed(woeidOfKey(key), termOfKey(key), state)
  }

  /** Reports the window that ends at `windowEnd`. */
  function* report(windowEnd: number, ctx: Context): Generator<void, void, void> {
    const lastMinute = lastMinuteOf(windowEnd)
    const publish = publishTo(ctx)
    const leaders = leadersOf(ctx)
    reportedHour = hourOfMinute(lastMinute)
    finalHour = Math.max(finalHour, lastFinalHour(windowEnd))
    if (!leaders.readyFor(lastMinute)) {
      rounds.publish(publish)
      yield* leaders.rebuild(lastMinute, (key, state) => rounds.catchUp(key, state, publish))
      rounds.caughtUp()
    }
    const silent = new Set(regions.filter((_, index) => index % ctx.partitions === ctx.partition).map((region) => region.woeid))
    yield* leaders.rank(lastMinute, function emitRegion(standing: RegionStanding) {
      silent.delete(standing.woeid)
      ctx.emit(candidates, standing.woeid, {
        ...noCandidates(standing.woeid, windowEnd, ctx.partition),
        entries: standing.entries,
        rest_new: standing.restNew,
        rest_known: standing.restKnown,
      })
    })
    // Regions without tweets get an empty list. The partitions share the work of reporting these regions.
    for (const woeid of silent) ctx.emit(candidates, woeid, noCandidates(woeid, windowEnd, ctx.partition))
    if (windowEnd % MINUTE_MS === 0) rounds.publish(publish)
    termSweep.run(reportedHour)
    baselineSweep.run(reportedHour)
  }

  function isTermExpired(key: string, state: TermState): boolean {
    if (!isSilent(state, reportedHour)) return false
    learnHours(key, state, reportedHour)
    return true
  }

  function publishTo(ctx: Context): PublishVolume {
    return function publishVolume(key, minute, volume) {
      ctx.emit(volumes, key, { woeid: woeidOfKey(key), term: termOfKey(key), minute: minute * MINUTE_MS, volume })
    }
  }

  return {
    prefetch,
    count,
    track,
    beforeCommit: (ctx: Context) => rounds.publish(publishTo(ctx), true),
    report,
  }
}

function noCandidates(woeid: number, windowEnd: number, partition: number): RegionCandidates {
  return { woeid, window_end: windowEnd, partition, entries: [], rest_new: 0, rest_known: 0 }
}
