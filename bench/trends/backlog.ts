import { pathOf, regions } from '../../schemas/trends/places/regions.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { tweetId } from '../../tools/tweets/tweet-ids.ts'

/** Tweets to write to the topic, and the number of contributions that they make to counts. */
export interface Backlog {
  readonly tweets: readonly SentTweet[]
  /** Sum over all regions. A term in a city counts in the city, in its country and worldwide. */
  readonly contributions: number
}

export interface SentTweet {
  readonly tweet: Tweet
  /** Time at which the tweet was sent, epoch ms. */
  readonly sentAt: number
}

const SEED = 7
const MINUTE_MS = 60_000
const SECOND_MS = 1_000
const MAX_BOT_SCORE = 0.7
const MAX_PER_USER = 3
const FIRST_FILLING_USER = 50_000_000
const TERMS_PER_FILLING_TWEET = 2
const CODE_LENGTH = 4
const BASE_36 = 36

/**
 * Creates `count` tweets of the demo stream, spread over the last `minutes`. No tweet is malformed or has a time in the
 * future, so that the counts do not depend on when the tweets are read.
 */
export function demoBacklog(count: number, minutes: number, now: number): Backlog {
  const rate = count / (minutes * (MINUTE_MS / SECOND_MS))
  const stream = demoStream({ seed: SEED, rate, startAt: now - minutes * MINUTE_MS })
  const tweets: SentTweet[] = []
  const byUser = new Map<string, number>()
  let contributions = 0
  while (tweets.length < count) {
    const { kind, at, tweet } = stream.next()
    if (tweet === undefined || kind === 'ahead') continue
    tweets.push({ tweet, sentAt: Math.min(at, now) })
    if (kind !== 'too_late') contributions += countOf(tweet, byUser)
  }
  return { tweets, contributions }
}

const HOT_TERM = 'everybody writes this'

/** Adds the same term to a share of the tweets. Adds it only to tweets that the pipeline counts for this term. */
export function withHotTerm(backlog: Backlog, share: number): Backlog {
  const byUser = new Map<bigint, number>()
  let due = 0
  let contributions = 0
  const tweets = backlog.tweets.map(({ tweet, sentAt }) => {
    due += share
    const before = byUser.get(tweet.user_id) ?? 0
    const counts = before < MAX_PER_USER && tweet.bot_score <= MAX_BOT_SCORE && sentAt - tweet.created_at < MINUTE_MS
    if (due < 1 || !counts) return { tweet, sentAt }
    due--
    byUser.set(tweet.user_id, before + 1)
    contributions += pathOf(tweet.woeid)?.length ?? 1
    return { tweet: { ...tweet, phrases: [...tweet.phrases, HOT_TERM] }, sentAt }
  })
  return { tweets, contributions: backlog.contributions + contributions }
}

/**
 * Returns how many contributions a tweet makes to counts, by the rules in docs/services/trends.md#what-counts. This
 * code is independent of the pipeline.
 * @param byUser numbers of earlier tweets by user and term; the function adds this tweet
 */
function countOf(tweet: Tweet, byUser: Map<string, number>): number {
  if (tweet.bot_score > MAX_BOT_SCORE) return 0
  const terms = new Set([...tweet.hashtags, ...tweet.phrases].map((term) => term.normalize('NFKC').toLowerCase().replace(/^#/, '')))
  let counted = 0
  for (const term of terms) {
    const key = `${tweet.user_id}:${term}`
    const before = byUser.get(key) ?? 0
    byUser.set(key, before + 1)
    if (before < MAX_PER_USER) counted++
  }
  return counted * (pathOf(tweet.woeid)?.length ?? 1)
}

/**
 * Creates tweets that fill every list: `termsPerCity` distinct terms in every city. No term occurs twice in a city,
 * and each tweet is by a different user.
 */
export function fillingBacklog(termsPerCity: number, now: number): Backlog {
  const tweets: SentTweet[] = []
  let contributions = 0
  for (const { type, woeid } of regions) {
    if (type !== 'Town') continue
    for (let first = 0; first < termsPerCity; first += TERMS_PER_FILLING_TWEET) {
      const sequence = tweets.length
      // In each city, half of the terms occur in all cities, and half only in this city. Countries and the world
      // therefore have more terms than their lists need.
      const hashtags = [`#everywhere${codeOf(first)}`, `#only${codeOf(woeid)}${codeOf(first)}`]
      const user_id = BigInt(FIRST_FILLING_USER + sequence)
      const tweet_id = tweetId(now, sequence)
      tweets.push({
        tweet: { tweet_id, user_id, text: hashtags.join(' '), hashtags, phrases: [], lang: 'en', woeid, bot_score: 0.1, created_at: now },
        sentAt: now,
      })
      contributions += hashtags.length * (pathOf(woeid)?.length ?? 1)
    }
  }
  return { tweets, contributions }
}

function codeOf(number: number): string {
  return number.toString(BASE_36).padStart(CODE_LENGTH, '0')
}
