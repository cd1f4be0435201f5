import type { Tweet } from '../../../schemas/trends/types.ts'
import { integer, pick, seededRandom } from '../../random/random.ts'
import { weightedPick, zipfWeights } from '../../random/weighted.ts'
import { cities, cityPick } from '../../tweets/places.ts'
import { tweetId } from '../../tweets/tweet-ids.ts'
import { type Burst, bursts } from './bursts.ts'
import { vocabulary } from './vocabulary.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

/** Number of users. Some users tweet much more than others, but no user dominates the stream. */
const USERS = 100_000
const USER_ZIPF_EXPONENT = 0.6
/** Shares of all events. */
const BOT_SHARE = 0.04
const SPAMMER_SHARE = 0.005
const LATE_SHARE = 0.01
const TOO_LATE_SHARE = 0.002
const AHEAD_SHARE = 0.0005
const MALFORMED_SHARE = 0.0005
/** Probability that a term is drawn with the frequencies of the tweet's country. */
const LOCAL_SHARE = 0.4
/**
 * Time from the start of one retweet storm to the start of the next. In a storm, many users retweet the same tweet for
 * half a minute.
 */
const STORM_EVERY_MS = 6 * MINUTE_MS
const STORM_MS = 30 * SECOND_MS
const STORM_SHARE = 0.2
const GREATEST_DELAY_MS = 10 * MINUTE_MS
const WINDOW_MS = 60 * MINUTE_MS
const ALLOWED_AHEAD_MS = 5 * MINUTE_MS
const BOT_USERS = 200
const LEAST_BOT_SCORE = 0.75
const GREATEST_HUMAN_SCORE = 0.6
/** People, bots and the only spammer have user ids in separate ranges, so that the data shows which is which. */
const FIRST_USER = 1_000_000
const FIRST_BOT = 9_000_000
const SPAMMER = 8_000_000
const SPAM_TAGS = ['#FreeFollowers', '#WinBigNow', '#CryptoGift', '#FollowBack']

export type DemoKind = 'ordinary' | 'burst' | 'storm' | 'bot' | 'spammer' | 'late' | 'too_late' | 'ahead' | 'malformed'

export interface DemoEvent {
  readonly kind: DemoKind
  /** Send time, epoch ms. */
  readonly at: number
  /** The tweet; undefined for malformed events. */
  readonly tweet: Tweet | undefined
}

export interface DemoStream {
  /** Returns the next event; times never decrease. */
  next(): DemoEvent
  /** Returns the active bursts, strongest first. */
  happening(time: number): readonly Burst[]
}

export interface DemoOptions {
  readonly seed: number
  /** Events per second. */
  readonly rate: number
  /** Epoch ms. */
  readonly startAt: number
}

/**
 * Creates an endless stream of tweets that resembles the stream of a real platform. Equal seeds, rates and start times
 * produce equal streams.
 */
export function demoStream({ seed, rate, startAt }: DemoOptions): DemoStream {
  const random = seededRandom(seed)
  const words = vocabulary(seed)
  const events = bursts(seededRandom(seed + 1), startAt)
  const drawUser = weightedPick(zipfWeights(USERS, USER_ZIPF_EXPONENT))
  const pickCity = cityPick(cities)
  const gapMs = SECOND_MS / rate
  let at = startAt
  let sequence = 0
  let stormTag = ''
  let stormNumber = -1

  function next(): DemoEvent {
    at += -Math.log(1 - random()) * gapMs
    const kind = kindOf(random())
    const time = Math.floor(at)
    return { kind, at: time, tweet: kind === 'malformed' ? undefined : tweetOf(kind, time) }
  }

  function kindOf(chance: number): DemoKind {
    const shares: readonly [DemoKind, number][] = SHARES
    for (const [kind, share] of shares) {
      chance -= share
      if (chance < 0) return kind
    }
    return inStorm() && random() < STORM_SHARE ? 'storm' : 'ordinary'
  }

  function inStorm(): boolean {
    return (at - startAt) % STORM_EVERY_MS > STORM_EVERY_MS - STORM_MS
  }

  function tweetOf(kind: DemoKind, time: number): Tweet {
    switch (kind) {
      case 'bot':
        return spam(time, FIRST_BOT + integer(random, BOT_USERS), LEAST_BOT_SCORE + random() * (1 - LEAST_BOT_SCORE))
      case 'spammer':
        return spam(time, SPAMMER, GREATEST_HUMAN_SCORE * random())
      case 'storm':
        return passedOn(time)
      case 'late':
        return ordinary(time - integer(random, GREATEST_DELAY_MS))
      case 'too_late':
        return ordinary(time - WINDOW_MS - MINUTE_MS - integer(random, WINDOW_MS))
      case 'ahead':
        return ordinary(time + ALLOWED_AHEAD_MS + MINUTE_MS + integer(random, WINDOW_MS))
      default:
        return burstOrOrdinary(time)
    }
  }

  function burstOrOrdinary(time: number): Tweet {
    const burst = events.at(time)
    return burst === undefined ? ordinary(time) : aboutBurst(time, burst)
  }

  function ordinary(createdAt: number): Tweet {
    const user = drawUser(random)
    const home = homeOf(user)
    const term = () => (random() < LOCAL_SHARE ? words.local(random, home.country_code) : words.common(random))
    return tweet(createdAt, FIRST_USER + user, home.woeid, [term(), term()].slice(0, 1 + integer(random, 2)), humanScore())
  }

  function aboutBurst(createdAt: number, burst: Burst): Tweet {
    const place = burst.pickCity(random)
    const user = drawUser(random)
    const spelling = pick(random, [burst.hashtag, burst.hashtag, burst.hashtag.toLowerCase()])
    const terms = random() < LOCAL_SHARE ? [spelling, words.local(random, place.country_code)] : [spelling, burst.phrase]
    return tweet(createdAt, FIRST_USER + user, place.woeid, terms, humanScore())
  }

  function passedOn(time: number): Tweet {
    const storm = Math.floor((time - startAt) / STORM_EVERY_MS)
    if (storm !== stormNumber) {
      stormNumber = storm
      stormTag = `#${words.common(random).replace(/[^\p{L}]/gu, '')}Challenge`
    }
    const user = drawUser(random)
    return tweet(time, FIRST_USER + user, homeOf(user).woeid, [stormTag], humanScore(), 'RT @everybody: ')
  }

  function spam(time: number, user: number, botScore: number): Tweet {
    return tweet(time, user, homeOf(user).woeid, [SPAM_TAGS[user % SPAM_TAGS.length]], botScore)
  }

  /** Returns a user's home city. Equal seeds give the same user the same city. */
  function homeOf(user: number) {
    return pickCity(seededRandom(seed ^ Math.imul(user, 0x9e3779b1)))
  }

  function humanScore(): number {
    return GREATEST_HUMAN_SCORE * random() ** 2
  }

  function tweet(created_at: number, user: number, woeid: number, terms: readonly string[], bot_score: number, prefix = ''): Tweet {
    return {
      tweet_id: tweetId(created_at, sequence++),
      user_id: BigInt(user),
      text: `${prefix}${terms.join(' ')}`,
      hashtags: terms.filter((term) => term.startsWith('#')),
      phrases: terms.filter((term) => !term.startsWith('#')),
      lang: 'en',
      woeid,
      bot_score,
      created_at,
    }
  }

  return { next, happening: (time) => [...events.active(time)].sort((a, b) => b.peak - a.peak) }
}

const SHARES: readonly [DemoKind, number][] = [
  ['bot', BOT_SHARE],
  ['spammer', SPAMMER_SHARE],
  ['late', LATE_SHARE],
  ['too_late', TOO_LATE_SHARE],
  ['ahead', AHEAD_SHARE],
  ['malformed', MALFORMED_SHARE],
]
