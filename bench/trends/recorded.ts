import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathOf } from '../../schemas/trends/places/regions.ts'
import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { expectedDataFolder } from '../../scripts/config.ts'
import { DATA_SETS } from '../../scripts/data-sets.ts'
import { type Random, seededRandom } from '../../tools/random/random.ts'
import { readRecording, tweetMaker } from '../../tools/replay/recording.ts'
import { cities, cityPick } from '../../tools/tweets/places.ts'
import { tweetId } from '../../tools/tweets/tweet-ids.ts'
import type { Backlog, SentTweet } from './backlog.ts'
import { countedTerms, termsOf } from './counted-terms.ts'

const MINUTE_MS = 60_000
/**
 * Number of user ids that are reserved for each repetition. The recording has fewer users. Each repetition has separate
 * users, because no user writes the same tweets twice.
 */
const USERS_PER_REPETITION = 1_000_000n
/** Terms with fewer occurrences get a different name in each repetition, so that most terms still occur only once. */
const SELDOM = 5
/** Number of tweets in the recording. The generated substitute has the same number. */
const RECORDED = 60_082
const SEED = 20121028
const STAND_IN_USERS = 40_000
const STAND_IN_TERMS_PER_TWEET = 5
/**
 * Share of terms in the generated substitute that occur in no other tweet. It is about as high in the recording. The
 * remaining terms come from a small vocabulary.
 */
const STAND_IN_NEW = 0.54
const STAND_IN_VOCABULARY = 20_000

/**
 * Creates `count` tweets, spread over the last `minutes`, by repeating the recorded tweets. If the data set is missing,
 * generated tweets with about as many new terms are repeated instead.
 */
export async function recordedBacklog(count: number, minutes: number, now: number): Promise<Backlog> {
  const { tweetAt } = await repeatedTweets()
  const tweets: SentTweet[] = []
  let contributions = 0
  for (let number = 0; number < count; number++) {
    const at = Math.floor(now - ((count - number) / count) * minutes * MINUTE_MS)
    tweets.push({ tweet: tweetAt(number, at), sentAt: at })
  }
  const byUser = new Map<string, number>()
  for (const { tweet } of tweets) contributions += countedTerms(tweet, byUser).length * (pathOf(tweet.woeid)?.length ?? 1)
  return { tweets, contributions }
}

/** An endless stream that repeats the recorded tweets or their generated substitute. */
export interface RepeatedTweets {
  /** Number of tweets in each repetition. No user has tweets in two repetitions. */
  readonly perRepetition: number
  /** Creates a tweet from its number in the stream and the time at which it was sent (epoch ms). */
  tweetAt(number: number, at: number): Tweet
}

export async function repeatedTweets(): Promise<RepeatedTweets> {
  const path = join(expectedDataFolder(), DATA_SETS.tweets.path)
  const originals = existsSync(path) ? await recordedTweets(path) : standIn()
  const occurrences = new Map<string, number>()
  for (const original of originals) for (const term of termsOf(original)) occurrences.set(term, (occurrences.get(term) ?? 0) + 1)
  function tweetAt(number: number, at: number): Tweet {
    const repetition = Math.floor(number / originals.length)
    const original = originals[number % originals.length]
    const renamed = (name: string) =>
      repetition > 0 && (occurrences.get(foldTerm(name) ?? '') ?? 0) < SELDOM ? `${name} ${repetition}` : name
    return {
      ...original,
      tweet_id: tweetId(at, number),
      user_id: original.user_id + BigInt(repetition) * USERS_PER_REPETITION,
      hashtags: original.hashtags.map(renamed),
      phrases: original.phrases.map(renamed),
      created_at: at,
    }
  }
  return { perRepetition: originals.length, tweetAt }
}

async function recordedTweets(path: string): Promise<Tweet[]> {
  const makeTweet = tweetMaker()
  const tweets: Tweet[] = []
  for await (const recorded of readRecording(path, () => {})) tweets.push(makeTweet(recorded, recorded.recordedAt))
  return tweets
}

function standIn(): Tweet[] {
  const random = seededRandom(SEED)
  const city = cityPick(cities)
  return Array.from({ length: RECORDED }, (_, i) => ({
    tweet_id: BigInt(i),
    user_id: BigInt(1 + Math.floor(random() * STAND_IN_USERS)),
    text: 'a generated tweet of about the usual length, which the pipeline never uses',
    hashtags: [],
    phrases: Array.from({ length: STAND_IN_TERMS_PER_TWEET }, (_, place) => standInTerm(random, `${i} ${place}`)),
    lang: 'en',
    woeid: city(random).woeid,
    bot_score: 0,
    created_at: 0,
  }))
}

/**
 * Returns a term of the substitute. Squaring the random number makes the first words of the vocabulary the most
 * frequent.
 */
function standInTerm(random: Random, unique: string): string {
  return random() < STAND_IN_NEW ? `only here ${unique}` : `word ${Math.floor(random() ** 2 * STAND_IN_VOCABULARY)}`
}
