import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { regionOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { decodeStored } from '../../state/stores/errors.ts'
import {
  type Context,
  deadLetter,
  drop,
  late,
  type Outcome,
  originalTimestamp,
  type PackedStore,
  type RecordContext,
  sweep,
  type Topic,
} from '../engine/index.ts'
import { MAX_TERMS_PER_USER, REMEMBERED_MINUTES, UserContributions } from './cap.ts'
import { cellBatches } from './cell-batches.ts'
import { FoldedTerms } from './folded-terms.ts'
import { pendingCells } from './pending-cells.ts'
import { NO_REPEATS } from './repeats.ts'
import type { TermCells } from './term-cells.ts'
import { hourOfMinute, MAX_AHEAD_MS, minuteOf, WINDOW_MINUTES } from './time.ts'
import type { TweetBytes } from './tweet-bytes.ts'

/** Bot score above which tweets are not counted: docs/services/trends.md#what-counts */
const MAX_BOT_SCORE = 0.7
/**
 * Number of users visited per run. With a run every minute, this is over a million per hour and partition, at about 1
 * µs each.
 */
const USERS_SWEPT = 20_000

export interface TweetCountsOptions {
  readonly users: PackedStore<bigint, UserContributions>
  readonly cells: Topic<number, TermCells>
}

/** Creates the first stage, which decides which tweets and terms are counted, and in which places. */
export function tweetCounts({ users, cells }: TweetCountsOptions) {
  const pending = pendingCells()
  const batches = cellBatches(cells)
  const terms = new FoldedTerms()
  /** The user of the current tweet. One object is reused for all users. */
  const user = new UserContributions()
  const userReader: Pick<Codec<UserContributions>, 'decode'> = { decode: (buffer, start, end) => user.read(buffer, start, end) }
  const rowBytes = byteWriter()
  let oldestRemembered = 0
  const userSweep = sweep(users, { keysPerRun: USERS_SWEPT, isExpired: (_id, user) => user.newest < oldestRemembered })

  function count(tweet: TweetBytes, ctx: RecordContext<bigint | undefined>): Outcome {
    if (tweet.bot_score > MAX_BOT_SCORE) return drop('bot')
    if (Number.isNaN(tweet.bot_score)) return deadLetter('bad_bot_score', "bot_score is NaN; correct the producer's bot detection")
    if (tweet.created_at > ctx.now + MAX_AHEAD_MS)
      return deadLetter(
        'created_in_the_future',
        `created_at is ${tweet.created_at - ctx.now} ms ahead of the clock; correct the producer's clock`,
      )
    const minute = minuteOf(tweet.created_at)
    if (minute <= minuteOf(arrivedAt(ctx)) - WINDOW_MINUTES) return late
    const row = users.findKey(tweet.user_id)
    if (row === undefined) user.clear()
    else decodeStored(userReader, row.buffer, users.name, row.start, row.end)
    terms.read(tweet)
    if (user.size + terms.count > MAX_TERMS_PER_USER) user.forgetBefore(Math.max(user.newest, minute) - REMEMBERED_MINUTES)
    const place = placeOf(tweet, ctx)
    const contribution = { place, original: { buffer: tweet.buffer, start: 0, end: 0 }, minute, tweet, repeats: NO_REPEATS }
    let admitted = false
    for (let i = 0; i < terms.count; i++) {
      const { fingerprint, start, end, originalStart, originalEnd } = terms.at(i)
      if (!user.hasRoomFor(fingerprint)) {
        ctx.count('trends_terms_refused')
        continue
      }
      const repeats = user.admit(fingerprint, minute, place)
      if (repeats === undefined) {
        ctx.count('trends_contributions_capped')
        continue
      }
      admitted = true
      contribution.original.start = originalStart
      contribution.original.end = originalEnd
      contribution.repeats = repeats
      pending.add({ buffer: terms.buffer, start, end }, contribution)
    }
    if (!admitted) return
    // A replayed tweet may be hours older than the user's newest tweet. The user's contributions since an hour before
    // it are kept, so that the cap also applies to tweets that are replayed after it.
    user.forgetBefore(Math.min(user.newest - REMEMBERED_MINUTES, minute - WINDOW_MINUTES))
    rowBytes.length = 0
    user.write(rowBytes)
    users.writeKey(tweet.user_id, { buffer: rowBytes.buffer, start: 0, end: rowBytes.length })
  }

  /**
   * Returns the time at which the broker received a tweet. A tweet is late if it was already older than the window at
   * that time. The records of `tweets` have the broker's time, so tweets that waited while the pipeline was down are
   * still included in the history and the daily volume.
   */
  function arrivedAt(ctx: RecordContext<bigint | undefined>): number {
    const timestamp = originalTimestamp(ctx)
    return timestamp > 0 ? Math.min(timestamp, ctx.now) : ctx.now
  }

  function placeOf({ woeid }: TweetBytes, ctx: Context): number {
    if (regionOf(woeid) !== undefined) return woeid
    ctx.count('trends_unknown_woeid')
    return WORLDWIDE
  }

  /** Sends the counts since the last commit. */
  function send(ctx: Context): void {
    batches.send(pending, ctx)
  }

  /** Deletes the state of users who have been silent. */
  function forget(ctx: Context): void {
    // Event time is used, because during a backlog the clock would make active users look silent.
    if (ctx.streamTime < 0) return
    oldestRemembered = minuteOf(Math.min(ctx.streamTime, ctx.now)) - REMEMBERED_MINUTES
    userSweep.run(hourOfMinute(oldestRemembered))
  }

  return { count, send, forget }
}
