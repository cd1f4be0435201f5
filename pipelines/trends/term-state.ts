import type { TermState } from '../../schemas/trends/types.ts'
import { addTo, emptyBuckets, newestOf, sumOf } from '../../state/stores/buckets.ts'
import type { TrendCandidate } from './candidate.ts'
import { addAllNewest, type TermCell } from './cells.ts'
import { addAllDrawn, NONE_DRAWN } from './drawn-tweets.ts'
import { addForm, mostFrequentForm } from './forms.ts'
import { commonestLanguage } from './languages.ts'
import { repeatsIn, storeRepeat } from './repeats.ts'
import { KEPT_SAMPLES, NO_SAMPLES, SAMPLES, sampledTweets } from './samples.ts'
import { hourOfMinute, MAX_AHEAD_MINUTES, MINUTE_MS, MINUTES_PER_HOUR, WINDOW_MINUTES } from './time.ts'

/**
 * Number of minutes that a state keeps. They cover the current window and the window an hour before, even when the
 * newest bucket is in the future.
 */
const KEPT_MINUTES = 2 * WINDOW_MINUTES + MAX_AHEAD_MINUTES + 1
/**
 * Number of hours that a state keeps. They cover the last 24 whole hours, the current hour, and the next hour, which
 * may already contain tweets whose times are ahead of the clock.
 */
const KEPT_HOURS = 26
export const DAY_HOURS = 24

/** Value of `TrendCandidate.baseline` for a term that has no usual count in the window. */
export const NO_BASELINE = -1

export function newTermState(): TermState {
  return {
    minutes: emptyBuckets(),
    hours: emptyBuckets(),
    forms: [],
    samples: NO_SAMPLES,
    repeats: [],
    drawn: NONE_DRAWN,
    tracked_hour: 0,
    learned_hour: 0,
    volumes_round: 0,
  }
}

/** Records the hour in which the term entered the list. Its baseline is learned starting with that hour. */
export function trackFrom(state: TermState, hour: number): void {
  state.tracked_hour = hour
  state.learned_hour = Math.max(state.learned_hour, hour - 1)
}

export interface MinuteListener {
  /** Called with the minute's new count. */
  added(minute: number, volume: number): void
  /** Called with the contributions to a minute that is too old to be kept. */
  tooOld(minute: number, count: number): void
  /** Called when a minute leaves the state because it is no longer among the newest `KEPT_MINUTES`. */
  dropping(minute: number, volume: number): void
  /** Called when an hour leaves the state because it is no longer among the newest `KEPT_HOURS`. */
  droppingHour(hour: number): void
}

/** A listener that does nothing, for states that are not stored. */
export const NOBODY: MinuteListener = { added() {}, tooOld() {}, dropping() {}, droppingHour() {} }

type CountedMinutes = Omit<TermCell, 'place'>

/**
 * Adds the counts of a term to its state in a region.
 * @param level the position of the region in the path of the cell's place
 */
export function applyCounts(state: TermState, counts: CountedMinutes, level: number, listener: MinuteListener): void {
  for (let i = 0; i < counts.minutes.length; i++) {
    const minute = counts.minutes[i]
    const count = counts.counts[i]
    const volume = addTo(state.minutes, minute, count, KEPT_MINUTES, listener.dropping)
    addTo(state.hours, hourOfMinute(minute), count, KEPT_HOURS, listener.droppingHour)
    if (volume === 0) listener.tooOld(minute, count)
    else listener.added(minute, volume)
  }
  for (const { form, count } of counts.forms) addForm(state.forms, form, count)
  addAllNewest(state, counts.samples)
  state.drawn = addAllDrawn(state.drawn, counts.drawn)
  if (counts.repeats.length === 0) return
  const oldest = newestOf(state.minutes) - KEPT_MINUTES + 1
  for (const repeat of counts.repeats) if ((repeat.levels & (1 << level)) !== 0) storeRepeat(state.repeats, repeat, oldest)
}

/** Returns the number of contributions in the window whose newest bucket is `lastMinute`. */
export function windowCount(state: TermState, lastMinute: number): number {
  return sumOf(state.minutes, lastMinute - WINDOW_MINUTES + 1, lastMinute)
}

/**
 * Returns an upper bound for the counts of the window whose newest bucket is `lastMinute` and of all later windows, if
 * no contribution arrives. Buckets after `lastMinute` are included.
 */
export function greatestCountFrom(state: TermState, lastMinute: number): number {
  return sumOf(state.minutes, lastMinute - WINDOW_MINUTES + 1, Infinity)
}

/**
 * Returns the number of distinct users in the window.
 * @param count number of contributions in the window
 * @param sampled number of samples in the window or after it
 */
function usersIn({ repeats }: TermState, count: number, sampled: number, lastMinute: number): number {
  const users = count - repeatsIn(repeats, lastMinute - WINDOW_MINUTES + 1, lastMinute)
  // Fewer samples than the limit include each user exactly once. If a producer spreads the tweets of a user over
  // partitions, `repeats` lacks the repeats in other partitions.
  return sampled < KEPT_SAMPLES ? Math.min(users, sampled) : users
}

/**
 * Returns the number of contributions in the 24 whole hours before the hour of `lastMinute`, and in that hour up to
 * `lastMinute`.
 */
function dayCount(state: TermState, lastMinute: number): number {
  const hour = hourOfMinute(lastMinute)
  const ahead = sumOf(state.minutes, lastMinute + 1, (hour + 1) * MINUTES_PER_HOUR - 1)
  return sumOf(state.hours, hour - DAY_HOURS, hour) - ahead
}

/** Returns the data about a term that the ranked list needs, except the drawn tweets, which the caller adds. */
export function candidateOf(term: string, state: TermState, count: number, usual: number | undefined, lastMinute: number): TrendCandidate {
  const windowStart = (lastMinute - WINDOW_MINUTES + 1) * MINUTE_MS
  const samples = sampledTweets(state.samples).filter((sample) => sample.created_at >= windowStart)
  return {
    term,
    name: mostFrequentForm(state.forms),
    count,
    hour_ago: windowCount(state, lastMinute - WINDOW_MINUTES),
    day: dayCount(state, lastMinute),
    baseline: usual ?? NO_BASELINE,
    tracked: state.tracked_hour !== 0,
    users: usersIn(state, count, samples.length, lastMinute),
    sample_tweets: samples.slice(0, SAMPLES).map((sample) => sample.tweet_id),
    lang: commonestLanguage(samples),
    drawn: [],
  }
}

/**
 * Returns the newest bucket of the last window for which `candidateOf` gives the same result, if no contribution
 * arrives. The result of `candidateOf` changes when the hour ends, and when a bucket enters the window, moves from it
 * into the window an hour before, or leaves that window.
 */
export function unchangedThrough(state: TermState, lastMinute: number): number {
  const { first, at } = state.minutes
  let next = (hourOfMinute(lastMinute) + 1) * MINUTES_PER_HOUR
  for (const distance of at) {
    for (let windows = 0; windows <= 2; windows++) {
      const change = first + distance + windows * WINDOW_MINUTES
      if (change > lastMinute && change < next) next = change
    }
  }
  return next - 1
}

/** Returns true if the term has no contribution within the day that volume_24h covers. Its state then has no effect. */
export function isSilent(state: TermState, hour: number): boolean {
  return newestOf(state.hours) < hour - DAY_HOURS
}
