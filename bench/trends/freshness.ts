import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { tweetProducer } from '../../tools/tweets/producer.ts'
import { tweetId } from '../../tools/tweets/tweet-ids.ts'
import type { BenchServers } from '../harness/servers.ts'

/** How soon marked terms appeared in the lists. Each marked term (`#mark…`) is new, and only the benchmark sends it. */
export interface FreshnessFigures {
  /** For each marked term that appeared, the time in ms from its tweets until it was visible, in ascending order. */
  readonly seen: readonly number[]
  /** Number of marked terms that did not appear within two minutes. */
  readonly missing: number
  readonly events: number
  readonly seconds: number
}

export interface FreshnessOptions {
  /** Number of tweets per second, without the tweets about marked terms. */
  readonly rate: number
  readonly seconds: number
  /** Opens a stream of `rate` tweets per second that starts at `startAt` (epoch ms). Default: the demo stream. */
  readonly open?: (startAt: number) => TweetStream
  /** Called with the tweets about each marked term when they are sent. */
  readonly onMark?: (tweets: readonly Tweet[]) => void
}

export interface TweetStream {
  next(): { readonly at: number; readonly tweet?: Tweet }
}

const SEED = 11
const STRIDE_MS = 100
/**
 * Interval between marked terms. The renewal interval (30 s) is not a multiple of this interval, so that the time from
 * a marked term to the next renewal varies.
 */
const MARK_EVERY_MS = 1_700
/** Number of tweets per marked term, each by a different user: enough to put a term at the top of any city's list. */
const TWEETS_PER_MARK = 40
const FIRST_MARKING_USER = 90_000_000
const ASK_EVERY_MS = 250
/** Time after which a marked term that has not appeared counts as missing. */
const LONGEST_MS = 120_000
const READY_TIMEOUT_MS = 300_000
const MS_PER_SECOND = 1_000

interface Mark {
  readonly name: string
  readonly woeid: number
  readonly sentAt: number
}

/**
 * Sends the stream of tweets and, in addition, tweets about a new term in one city after another. For each new term,
 * polls the API for the city's list until the list contains the term, or until two minutes have passed.
 */
export async function measureFreshness(servers: BenchServers, api: string, options: FreshnessOptions): Promise<FreshnessFigures> {
  const { rate, seconds, onMark, open = (startAt: number): TweetStream => demoStream({ seed: SEED, rate, startAt }) } = options
  await waitUntil(async () => (await fetch(`${api}/v1/trends?woeid=1`)).ok, { what: 'the first list', timeoutMs: READY_TIMEOUT_MS })
  const transport = kafkaTransport({ brokers: [servers.addresses.kafka], clientId: 'marks' }, { runtime: systemRuntime() })
  await transport.connect()
  const producer = await tweetProducer(transport, registryClient({ url: servers.addresses.registry }))
  const cities = regions.filter(({ type }) => type === 'Town')
  const stream = open(Date.now())
  const seen: number[] = []
  const outstanding = new Set<Mark>()
  const startedAt = Date.now()
  const endAt = startedAt + seconds * MS_PER_SECOND
  let missing = 0
  let marks = 0
  let events = 0
  let sending = true

  async function send(): Promise<void> {
    let next = stream.next()
    while (Date.now() < endAt) {
      const now = Date.now()
      for (; next.at <= now; next = stream.next()) {
        if (next.tweet === undefined) continue
        producer.send(next.tweet, next.at)
        events++
        if (producer.isFull) await producer.flush()
      }
      if (now >= startedAt + marks * MARK_EVERY_MS) {
        const mark = { name: `#mark${marks}of${startedAt}`, woeid: cities[marks % cities.length].woeid, sentAt: now }
        const tweets = tweetsOf(mark, marks)
        for (const tweet of tweets) producer.send(tweet, now)
        onMark?.(tweets)
        events += tweets.length
        marks++
        outstanding.add(mark)
      }
      await producer.flush()
      await delay(STRIDE_MS)
    }
    sending = false
  }

  async function look(): Promise<void> {
    while (sending || outstanding.size > 0) {
      await Promise.all([...outstanding].map(ask))
      await delay(ASK_EVERY_MS)
    }
  }

  async function ask(mark: Mark): Promise<void> {
    const response = await fetch(`${api}/v1/trends?woeid=${mark.woeid}`)
    const text = await response.text()
    const took = Date.now() - mark.sentAt
    const found = response.ok && text.includes(`"${mark.name}"`)
    if (!found && took < LONGEST_MS) return
    outstanding.delete(mark)
    if (found) seen.push(took)
    else missing++
  }

  await Promise.all([send(), look()])
  await producer.close()
  await transport.close()
  return { seen: seen.sort((a, b) => a - b), missing, events, seconds: (Date.now() - startedAt) / MS_PER_SECOND }
}

function tweetsOf({ name, woeid, sentAt }: Mark, number: number): Tweet[] {
  return Array.from({ length: TWEETS_PER_MARK }, (_, i) => {
    const sequence = number * TWEETS_PER_MARK + i
    return {
      tweet_id: tweetId(sentAt, sequence),
      user_id: BigInt(FIRST_MARKING_USER + sequence),
      text: name,
      hashtags: [name],
      phrases: [],
      lang: 'en',
      woeid,
      bot_score: 0.1,
      created_at: sentAt,
    }
  })
}
