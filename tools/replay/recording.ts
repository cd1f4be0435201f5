import type { Tweet } from '../../schemas/trends/types.ts'
import { seededRandom } from '../random/random.ts'
import { type CityPick, cities, citiesOf, cityPick } from '../tweets/places.ts'
import { readCsv } from './csv.ts'
import { extractTerms } from './extract.ts'

/** The data of a row that a replay needs. */
export interface RecordedTweet {
  readonly tweet_id: bigint
  /** Epoch ms. */
  readonly recordedAt: number
  readonly event: string
  readonly text: string
}

const REQUIRED = ['tweet_id', 'created_at', 'text']
const ID = /^\d{1,19}$/
const MAX_ID = 2n ** 63n - 1n

/**
 * Reads tweets from a CSV file with the columns tweet_id, created_at, text and optionally event. Reports rows that are
 * not tweets.
 */
export async function* readRecording(path: string, onBadRow: (reason: string) => void): AsyncGenerator<RecordedTweet> {
  let line = 1
  for await (const row of readCsv(path)) {
    line++
    const missing = REQUIRED.filter((column) => row[column] === undefined)
    if (missing.length > 0) throw new Error(`${path} lacks the columns ${missing.join(', ')}; it must have ${REQUIRED.join(', ')}`)
    const recordedAt = Date.parse(row.created_at)
    const isTweet = ID.test(row.tweet_id) && BigInt(row.tweet_id) <= MAX_ID && !Number.isNaN(recordedAt)
    if (!isTweet) onBadRow(`row ${line}: tweet_id ${row.tweet_id}, created_at ${row.created_at}`)
    else yield { tweet_id: BigInt(row.tweet_id), recordedAt, event: row.event ?? '', text: row.text }
  }
}

/** Number of users: two for every three tweets of the public recording. */
const USERS = 40_000
/** Countries whose people speak the language of the recording. */
const ENGLISH_SPEAKING = ['US', 'GB', 'CA', 'AU', 'IE', 'NZ', 'ZA', 'IN', 'PH', 'NG']
/** The countries of the events, keyed by a part of the event's name. */
const HOME_OF_EVENT: readonly [part: string, country: string][] = [
  ['Sandy', 'US'],
  ['Boston', 'US'],
  ['Texas', 'US'],
  ['Oklahoma', 'US'],
  ['Queensland', 'AU'],
  ['Alberta', 'CA'],
]
/**
 * Share of tweets whose place is drawn from the country of their event, or from all cities if that country is unknown.
 * The places of the other tweets are drawn from all English-speaking countries.
 */
const HOME_SHARE = 0.5

/**
 * Creates a function that converts recorded tweets to tweets of the platform. The recording contains neither users nor
 * places. Both are derived from the tweet's id, so they are the same in every replay.
 */
export function tweetMaker(): (recorded: RecordedTweet, createdAt: number) => Tweet {
  const anywhere = cityPick(citiesOf(ENGLISH_SPEAKING))
  const homes = new Map<string, CityPick>()

  function homeOf(event: string): CityPick {
    const known = homes.get(event)
    if (known !== undefined) return known
    const country = HOME_OF_EVENT.find(([part]) => event.includes(part))?.[1]
    const home = country === undefined ? cityPick(cities) : cityPick(citiesOf([country]))
    homes.set(event, home)
    return home
  }

  return function makeTweet({ tweet_id, event, text }, createdAt) {
    const random = seededRandom(Number(tweet_id % 4_294_967_291n))
    const user_id = BigInt(1 + Math.floor(random() * USERS))
    const place = random() < HOME_SHARE ? homeOf(event)(random) : anywhere(random)
    return { tweet_id, user_id, text, ...extractTerms(text), lang: 'en', woeid: place.woeid, bot_score: 0, created_at: createdAt }
  }
}
