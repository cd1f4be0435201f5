import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey } from '../../schemas/trends/term.ts'
import type { TermBaseline } from '../../schemas/trends/types.ts'
import { tweetProducer } from '../../tools/tweets/producer.ts'
import { tweetId } from '../../tools/tweets/tweet-ids.ts'
import type { BenchServers } from '../harness/servers.ts'
import { changelogs, fillChangelog } from './changelogs.ts'

/** Number of terms per tweet. Real tweets have fewer, but with more terms per tweet, filling the worker is faster. */
export const TERMS_PER_TWEET = 20
const FIRST_USER = 70_000_000
const HOUR_MS = 3_600_000
const HOURS_PER_WEEK = 168
const WEEK_MS = HOURS_PER_WEEK * HOUR_MS
/** Number of hours of the week for which a baseline contains a mean. */
const OBSERVED_HOURS = 4

/** Sends tweets with `count` different terms in total. Each term occurs once, like nine in ten terms of real tweets. */
export async function sendLiveTerms(servers: BenchServers, transport: Transport, count: number): Promise<void> {
  const producer = await tweetProducer(transport, registryClient({ url: servers.addresses.registry }))
  const cities = regions.filter(({ type }) => type === 'Town')
  for (let number = 0; number < count / TERMS_PER_TWEET; number++) {
    const now = Date.now()
    const phrases = Array.from({ length: TERMS_PER_TWEET }, (_, place) => `once only ${number * TERMS_PER_TWEET + place}`)
    producer.send(
      {
        tweet_id: tweetId(now, number),
        user_id: BigInt(FIRST_USER + number),
        text: '',
        hashtags: [],
        phrases,
        lang: 'en',
        woeid: cities[number % cities.length].woeid,
        bot_score: 0,
        created_at: now,
      },
      now,
    )
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

/**
 * Writes baselines to the changelog of their store. Call this function while the worker is stopped, and delete the
 * worker's local copy of the store before the next start, so that the worker restores the whole store.
 */
export async function writeBaselines(servers: BenchServers, transport: Transport, count: number): Promise<void> {
  await fillChangelog(changelogs.usual, baselines(count), transport, registryClient({ url: servers.addresses.registry }))
}

function* baselines(count: number): Generator<[key: string, baseline: TermBaseline], void, void> {
  const now = Date.now()
  const hour = Math.floor(now / HOUR_MS)
  const week = Math.floor(now / WEEK_MS)
  for (let number = 0; number < count; number++) {
    const first = number % HOURS_PER_WEEK
    const hours_of_week = Array.from({ length: OBSERVED_HOURS }, (_, i) => (first + i) % HOURS_PER_WEEK)
    const baseline = {
      since_hour: hour - HOURS_PER_WEEK,
      seen_hour: hour - (number % HOURS_PER_WEEK),
      hours_of_week,
      means: hours_of_week.map((each) => each / 2),
      weeks: hours_of_week.map(() => week),
    }
    yield [termKey(regions[number % regions.length].woeid, `usual term ${number}`), baseline]
  }
}
