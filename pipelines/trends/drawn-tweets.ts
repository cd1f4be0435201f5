import { MAX_PER_USER } from './max-per-user.ts'
import { mixed } from './mixed.ts'
import { type SampleTweet, sampleTime } from './samples.ts'
import { minuteOf } from './time.ts'

/**
 * Maximum number of tweets that are drawn from a term's window: those whose ids have the lowest hashes (a bottom-k
 * sketch). A tweet has the same hash for all its terms, so the overlap of two terms can be estimated from their drawn
 * tweets. With the maximum number of tweets, the standard error is at most about 10 percentage points.
 */
export const DRAWN_TWEETS = 24
/**
 * Minimum number of common tweets at which two terms are compared, because fewer tweets may all be from one user. No
 * tweets are drawn for terms with fewer tweets. Most terms are that rare, so drawing costs nothing for them.
 */
export const LEAST_DRAWN = MAX_PER_USER + 1
/**
 * Length of the periods from which tweets are drawn separately. Old tweets leave the window, so the draw of a window is
 * made from the draws of the periods that it still contains.
 */
const PERIOD_MINUTES = 20
/**
 * Number of periods that are kept, counted back from the newest tweet. They cover the whole window, even if the time of
 * the newest tweet is in the future.
 */
const KEPT_PERIODS = 5

/**
 * Up to `DRAWN_TWEETS` tweets of each period, as bytes. A period begins with its number (4 bytes) and the number of its
 * tweets (1 byte). A tweet has its id (8 bytes) and its minute within the period (1 byte). Periods are in ascending
 * order, and so are the hashes of a period's tweets. A Buffer takes a tenth of the memory of objects.
 */
export type DrawnTweets = Buffer

export const NONE_DRAWN: DrawnTweets = Buffer.alloc(0)

const PERIOD_BYTES = 5
const TWEET_BYTES = 9
const TWO_32 = 2 ** 32

/** Returns 53 bits that determine the order in which tweets are drawn. */
export function drawHash(tweetId: bigint): number {
  id[0] = tweetId
  return hashOf(idWords[0], idWords[1])
}

const id = new BigInt64Array(1)
const idWords = new Uint32Array(id.buffer)

/** Returns the hash of a tweet from the lower and upper 32 bits of its id. */
export function hashOf(low: number, high: number): number {
  const lower = mixed(low + Math.imul(high, 0x9e3779b1))
  const upper = mixed(high ^ lower)
  return (upper >>> 11) * TWO_32 + (lower >>> 0)
}

/**
 * Adds a tweet unless its period is too old or already has enough tweets with lower hashes. The result does not depend
 * on the order or repetition of tweets.
 * @returns `drawn` itself if nothing has changed
 */
export function addDrawn(drawn: DrawnTweets, { tweet_id, created_at }: Pick<SampleTweet, 'tweet_id' | 'created_at'>): DrawnTweets {
  id[0] = tweet_id
  return addWords(drawn, idWords[0], idWords[1], minuteOf(created_at))
}

/** Like `addDrawn`, but for a tweet that is given as the bytes of a sample. */
export function addDrawnSample(drawn: DrawnTweets, sample: Buffer): DrawnTweets {
  return addWords(drawn, sample.readUInt32LE(0), sample.readUInt32LE(4), minuteOf(sampleTime(sample, 0)))
}

export function addAllDrawn(drawn: DrawnTweets, added: DrawnTweets): DrawnTweets {
  let all = drawn
  eachDrawn(added, (low, high, minute) => {
    all = addWords(all, low, high, minute)
  })
  return all
}

function addWords(drawn: DrawnTweets, low: number, high: number, minute: number): DrawnTweets {
  const period = Math.floor(minute / PERIOD_MINUTES)
  let at = 0
  while (at < drawn.length && periodAt(drawn, at) < period) at = nextPeriod(drawn, at)
  if (at < drawn.length && periodAt(drawn, at) === period) return addToPeriod(drawn, at, low, high, minute)
  const newest = Math.max(period, newestPeriod(drawn))
  if (period <= newest - KEPT_PERIODS) return drawn
  let kept = 0
  while (kept < at && periodAt(drawn, kept) <= newest - KEPT_PERIODS) kept = nextPeriod(drawn, kept)
  const grown = Buffer.allocUnsafe(drawn.length - kept + PERIOD_BYTES + TWEET_BYTES)
  drawn.copy(grown, 0, kept, at)
  const start = at - kept
  grown.writeUInt32LE(period, start)
  grown[start + PERIOD_BYTES - 1] = 1
  writeTweet(grown, start + PERIOD_BYTES, low, high, minute)
  drawn.copy(grown, start + PERIOD_BYTES + TWEET_BYTES, at)
  return grown
}

function addToPeriod(drawn: DrawnTweets, start: number, low: number, high: number, minute: number): DrawnTweets {
  const tweets = drawn[start + PERIOD_BYTES - 1]
  const first = start + PERIOD_BYTES
  const end = first + tweets * TWEET_BYTES
  const hash = hashOf(low, high)
  const isFull = tweets === DRAWN_TWEETS
  if (isFull && hash >= hashAt(drawn, end - TWEET_BYTES)) return drawn
  let place = first
  while (place < end && hashAt(drawn, place) < hash) place += TWEET_BYTES
  if (place < end && hashAt(drawn, place) === hash) return drawn
  const grown = Buffer.allocUnsafe(drawn.length + (isFull ? 0 : TWEET_BYTES))
  drawn.copy(grown, 0, 0, place)
  writeTweet(grown, place, low, high, minute)
  drawn.copy(grown, place + TWEET_BYTES, place, isFull ? end - TWEET_BYTES : end)
  drawn.copy(grown, end + (isFull ? 0 : TWEET_BYTES), end)
  if (!isFull) grown[start + PERIOD_BYTES - 1] = tweets + 1
  return grown
}

function periodAt(drawn: DrawnTweets, at: number): number {
  return drawn.readUInt32LE(at)
}

function nextPeriod(drawn: DrawnTweets, at: number): number {
  return at + PERIOD_BYTES + drawn[at + PERIOD_BYTES - 1] * TWEET_BYTES
}

function newestPeriod(drawn: DrawnTweets): number {
  let newest = 0
  for (let at = 0; at < drawn.length; at = nextPeriod(drawn, at)) newest = periodAt(drawn, at)
  return newest
}

function hashAt(drawn: DrawnTweets, at: number): number {
  return hashOf(drawn.readUInt32LE(at), drawn.readUInt32LE(at + 4))
}

function writeTweet(drawn: DrawnTweets, at: number, low: number, high: number, minute: number): void {
  drawn.writeUInt32LE(low, at)
  drawn.writeUInt32LE(high, at + 4)
  drawn[at + 8] = minute % PERIOD_MINUTES
}

function eachDrawn(drawn: DrawnTweets, visit: (low: number, high: number, minute: number) => void): void {
  for (let at = 0; at < drawn.length; ) {
    const firstMinute = periodAt(drawn, at) * PERIOD_MINUTES
    const end = nextPeriod(drawn, at)
    for (at += PERIOD_BYTES; at < end; at += TWEET_BYTES)
      visit(drawn.readUInt32LE(at), drawn.readUInt32LE(at + 4), firstMinute + drawn[at + 8])
  }
}

/**
 * Draws the tweets of a window: of all tweets that were drawn in its periods, the ones with the lowest hashes. Draws
 * none if the window has fewer than `LEAST_DRAWN` tweets.
 * @param samples further tweets of the term
 * @param firstMinute the first minute of the window
 */
export function drawFrom(samples: readonly SampleTweet[], drawn: DrawnTweets, firstMinute: number): readonly bigint[] {
  if (drawn.length === 0 && samples.length < LEAST_DRAWN) return NO_TWEETS
  const oldest = firstMinute - (firstMinute % PERIOD_MINUTES)
  const recent = samples.filter(({ created_at }) => minuteOf(created_at) >= oldest)
  if (drawn.length === 0) return leastOf(recent.filter(({ created_at }) => minuteOf(created_at) >= firstMinute).map(hashedSample))
  const found: HashedTweet[] = []
  eachDrawn(recent.reduce(addDrawn, drawn), (low, high, minute) => {
    if (minute < firstMinute) return
    idWords[0] = low
    idWords[1] = high
    found.push({ tweetId: id[0], hash: hashOf(low, high) })
  })
  return leastOf(found)
}

const NO_TWEETS: readonly bigint[] = []

interface HashedTweet {
  readonly tweetId: bigint
  readonly hash: number
}

function hashedSample({ tweet_id }: SampleTweet): HashedTweet {
  return { tweetId: tweet_id, hash: drawHash(tweet_id) }
}

function leastOf(tweets: HashedTweet[]): readonly bigint[] {
  if (tweets.length < LEAST_DRAWN) return NO_TWEETS
  tweets.sort((a, b) => a.hash - b.hash)
  return tweets.slice(0, DRAWN_TWEETS).map(({ tweetId }) => tweetId)
}
