import type { TermBaseline, TermState } from '../../schemas/trends/types.ts'
import { eachBucket } from '../../state/stores/buckets.ts'
import type { PackedStore } from '../engine/index.ts'
import { type HourlyUsual, hourlyUsual, lastUsedHour, learn, newBaseline } from './baseline.ts'
import { newTermState } from './term-state.ts'
import { lastFinalHour } from './time.ts'

export interface LearnedBaselinesOptions {
  /** The states of frequent terms, by region and term. */
  readonly frequent: Pick<PackedStore<string, TermState>, 'put'>
  /** The baselines, by region and term. */
  readonly baselines: Pick<PackedStore<string, TermBaseline>, 'get' | 'put' | 'prefetch' | 'loadPrefetched'>
}

export type LearnedBaselines = ReturnType<typeof learnedBaselines>

/**
 * The baselines of a partition. A baseline learns the count of an hour from a frequent term's state when the hour is
 * final, or before the hour leaves the state.
 */
export function learnedBaselines({ frequent, baselines }: LearnedBaselinesOptions) {
  /**
   * The newest hour that is final in all partitions of the first stage; 0 after a start, before the first window is
   * closed. It cannot be derived from a term's newest hour, because after a stop the partitions progress at unequal
   * speeds.
   */
  let finalHour = 0

  /** Must be called when a window is closed to which all partitions have contributed. */
  function windowClosed(windowEnd: number): void {
    finalHour = Math.max(finalHour, lastFinalHour(windowEnd))
  }

  /**
   * Returns the usual counts of a term around the hour of `lastMinute`; undefined if the term has no baseline for that
   * hour yet.
   * @param state the stored state of the term; stored again if there are final hours that its baseline lacks
   */
  function usualOf(key: string, state: TermState, lastMinute: number): HourlyUsual | undefined {
    if (finalHour > state.learned_hour) {
      learnHours(key, state)
      frequent.put(key, state)
    }
    const baseline = baselines.get(key) ?? newBaseline(state.tracked_hour)
    const last = lastUsedHour(lastMinute)
    return hourlyUsual(state.learned_hour < last ? withOpenHours(baseline, state, last) : baseline, lastMinute)
  }

  /**
   * Returns a copy of a baseline that also contains the hours that are not final yet because a partition of the first
   * stage is stuck. Without these hours, a term would seem to have no contributions in them. The counts of these hours
   * lack the contributions from the stuck partition, but so do the windows with which they are compared. The stored
   * baseline does not change.
   */
  function withOpenHours(baseline: TermBaseline, state: TermState, upTo: number): TermBaseline {
    const { hours_of_week, means, weeks } = baseline
    const copy = { ...baseline, hours_of_week: [...hours_of_week], means: [...means], weeks: [...weeks] }
    learnFrom(state, copy, upTo)
    return copy
  }

  function prefetchUsual(keys: readonly string[]): void {
    for (const key of keys) baselines.prefetch(key)
    baselines.loadPrefetched()
  }

  /** Creates the baseline of a term that a region starts to track in this hour. */
  function begin(key: string, hour: number): void {
    baselines.put(key, newBaseline(hour))
  }

  /** Begins to track a term in the region whose list it has entered. Stores the baseline, but not the state. */
  function track(key: string, state: TermState, hour: number): void {
    const baseline = baselines.get(key) ?? newBaseline(hour)
    baselines.put(key, baseline)
    state.tracked_hour = baseline.since_hour
    state.learned_hour = Math.max(state.learned_hour, hour - 1)
  }

  /** Returns the state of a term that had none. The term may have a baseline from earlier days. */
  function returningTerm(key: string): TermState {
    const state = newTermState()
    const baseline = baselines.get(key)
    // The baseline contains all hours of the term's earlier states, because the hours of a state are learned before it
    // expires. The new state therefore continues after these hours.
    state.tracked_hour = baseline?.since_hour ?? 0
    state.learned_hour = baseline?.seen_hour ?? 0
    return state
  }

  /** Adds the hours of a state up to `upTo` to its baseline. Does not store the state. */
  function learnHours(key: string, state: TermState, upTo = finalHour): void {
    if (state.tracked_hour === 0 || upTo <= state.learned_hour) return
    const baseline = baselines.get(key) ?? newBaseline(state.tracked_hour)
    if (learnFrom(state, baseline, upTo)) baselines.put(key, baseline)
    state.learned_hour = upTo
  }

  /**
   * Adds the hours up to `upTo` that the baseline has not learned.
   * @returns whether there were any
   */
  function learnFrom(state: TermState, baseline: TermBaseline, upTo: number): boolean {
    const from = Math.max(state.learned_hour + 1, state.tracked_hour)
    let learned = false
    eachBucket(state.hours, (hour, volume) => {
      if (hour < from || hour > upTo) return
      learn(baseline, hour, volume)
      learned = true
    })
    return learned
  }

  return { windowClosed, usualOf, prefetchUsual, begin, track, returningTerm, learnHours }
}
