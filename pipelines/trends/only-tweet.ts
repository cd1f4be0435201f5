import type { ByteSpan } from '../engine/index.ts'
import type { TrendCandidate } from './candidate.ts'
import { languageOf } from './languages.ts'
import { CellReader } from './packed-cells.ts'
import type { RareRow } from './rare-terms.ts'
import { regionsOf } from './regions-of.ts'
import type { SampleTweet } from './samples.ts'
import { DAY_HOURS, NO_BASELINE } from './term-state.ts'
import { hourOfMinute, MINUTES_PER_HOUR, WINDOW_MINUTES } from './time.ts'

/**
 * The data of a rare term with a single contribution, for one region. Nearly all candidates in quiet regions have only
 * one contribution. Building a state with buckets for each of them would take most of the time of a renewal.
 */
export interface OnlyTweet {
  readonly spelling: string
  readonly minute: number
  readonly tweet: SampleTweet
  /** The hour since which the region has tracked the term; 0 if the region does not track it yet. */
  readonly trackedHour: number
}

/**
 * Returns the only contribution to a rare term if the contribution is counted in the region.
 * @param row the encoded row of a rare term
 * @param parts the parts that were read from the same row
 * @returns undefined if the term has several contributions, or none in the region
 */
export function onlyTweetIn({ buffer, end }: Readonly<ByteSpan>, parts: RareRow, woeid: number): OnlyTweet | undefined {
  const reader = new CellReader(buffer, parts.cellsAt, end)
  const place = reader.number()
  if (reader.number() !== 1) return undefined
  const minute = reader.number()
  if (reader.number() !== 1 || reader.number() !== 1) return undefined
  const textBytes = reader.number()
  const textAt = reader.skip(textBytes)
  if (reader.number() !== 1 || reader.number() !== 1) return undefined
  const tweet = reader.sample()
  // A term with a single contribution has no repeats, no drawn tweets and no further cell.
  if (reader.number() !== 0 || reader.number() !== 0 || !reader.atEnd || !regionsOf(place).includes(woeid)) return undefined
  const trackedHour = parts.tracked.find((region) => region.woeid === woeid)?.hour ?? 0
  return { spelling: buffer.toString('utf8', textAt, textAt + textBytes), minute, tweet, trackedHour }
}

/** Returns the highest count, 0 or 1, that the term has in this window or any later one. */
export function onlyCountFrom({ minute }: OnlyTweet, lastMinute: number): number {
  return Number(minute > lastMinute - WINDOW_MINUTES)
}

/** Like `candidateOf`, but for a term with a single contribution and without a baseline. */
export function candidateOfOnly(term: string, only: OnlyTweet, lastMinute: number): TrendCandidate {
  const { spelling, minute, tweet, trackedHour } = only
  const isSampled = minute > lastMinute - WINDOW_MINUTES
  const count = Number(isSampled && minute <= lastMinute)
  const hour = hourOfMinute(lastMinute)
  const isAhead = minute > lastMinute && minute < (hour + 1) * MINUTES_PER_HOUR
  const ofMinute = hourOfMinute(minute)
  return {
    term,
    name: spelling,
    count,
    hour_ago: Number(!isSampled && minute > lastMinute - 2 * WINDOW_MINUTES),
    day: Number(ofMinute >= hour - DAY_HOURS && ofMinute <= hour && !isAhead),
    baseline: NO_BASELINE,
    tracked: trackedHour !== 0,
    users: count,
    sample_tweets: isSampled ? [tweet.tweet_id] : [],
    lang: isSampled ? languageOf(tweet.lang) : '',
    drawn: [],
  }
}

/** Like `unchangedThrough`, but for a term with a single contribution. */
export function onlyUnchangedThrough({ minute }: OnlyTweet, lastMinute: number): number {
  let next = (hourOfMinute(lastMinute) + 1) * MINUTES_PER_HOUR
  for (let change = minute; change <= minute + 2 * WINDOW_MINUTES; change += WINDOW_MINUTES) {
    if (change > lastMinute && change < next) next = change
  }
  return next - 1
}
