import { expect, test } from 'vitest'
import { type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendEntry, TrendOutput, Tweet } from '../../../schemas/trends/types.ts'
import { integer, pick, type Random, seededRandom } from '../../../tools/random/random.ts'
import { expectEqual } from '../../expect-equal.ts'
import { offlineTrends, type SentTweet } from './offline.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/**
 * Start of the test. It is ten seconds after a renewal, so that lists are not late when the clock advances by whole
 * minutes.
 */
const START = Date.UTC(2026, 0, 1, 12, 0, 10)
const DAYS = 27
const REGIONS = 551
/** WOEIDs of New York, Chicago, London and the United States. */
const PLACES = [2459115, 2379574, 44418, 23424977]
const TERMS = ['sandy', '#Obama', 'good morning', 'monday', 'rare', 'goal', 'quake']
const SELDOM_TERMS = 8
const CROWD = 24
/**
 * Number of digits to which fractions are compared. The offline computation adds numbers in a different order, so the
 * last digits may differ.
 */
const DIGITS = 9
const SEED = 20_260_101
/** Time limit of the test. The test takes about five seconds on one core, and many times as long on a busy machine. */
const TIMEOUT_MS = 300_000

/** Creates a simulation that sends tweets and compares all published lists with lists that are computed offline. */
function simulation(random: Random) {
  const driver = testDriver(trends, { startAt: START, commit: 'manual', cacheBytes: 4_000 })
  const sent: SentTweet[] = []
  const offline = offlineTrends(sent)
  const seen = { lists: 0, labels: 0, variants: 0 }
  let id = 2n ** 60n

  function send(user_id: bigint, created_at: number, ...hashtags: string[]): void {
    const tweet: Tweet = {
      tweet_id: id++,
      user_id,
      text: '',
      hashtags,
      phrases: [],
      lang: 'en',
      woeid: pick(random, PLACES),
      bot_score: 0,
      created_at,
    }
    driver.pipe(tweets, user_id, tweet)
    sent.push({ tweet, sentAt: driver.now })
  }

  function chat(): void {
    for (let i = integer(random, 12); i > 0; i--)
      send(BigInt(1 + integer(random, 9)), driver.now - integer(random, 20) * MINUTE, pick(random, TERMS))
    // Most of these terms are silent for more than a day before they return, so the store then contains only their
    // baseline.
    if (random() < 0.4) {
      const term = `seldom ${integer(random, SELDOM_TERMS)}`
      for (let user = 0; user < CROWD; user++) send(BigInt(100 + user), driver.now, term)
    }
    if (random() < 0.2) {
      // The same users mention both terms, so the terms are one topic for an hour.
      const terms = [pick(random, TERMS), pick(random, TERMS)]
      for (let user = 0; user < CROWD; user++) send(BigInt(100 + user), driver.now, ...terms)
    }
  }

  function leap(ms: number): void {
    driver.advanceWallClock(ms)
    driver.settle()
    compare()
  }

  function compare(): void {
    for (const [windowEnd, lists] of publishedLists(driver)) {
      expect(lists).toHaveLength(REGIONS)
      const expected = offline.listsAt(windowEnd)
      for (const { woeid, entries } of lists) {
        expectEqual(entries.map(rounded), (expected.get(woeid) ?? []).map(rounded))
        seen.lists += entries.length > 0 ? 1 : 0
        seen.labels += entries.filter(({ label }) => label !== null).length
        seen.variants += entries.filter(({ variants }) => variants.length > 0).length
      }
    }
  }

  return { driver, chat, leap, seen }
}

function publishedLists(driver: TestDriver): [windowEnd: number, lists: TrendOutput[]][] {
  const lists = [...driver.read(trendOutput), ...driver.read(trendRenewals)].map(({ value }) => value as TrendOutput)
  return [...Map.groupBy(lists, ({ window_end }) => window_end)].sort(([a], [b]) => a - b)
}

function rounded(entry: TrendEntry): TrendEntry {
  const { velocity_vs_usual, score } = entry
  return { ...entry, velocity_vs_usual: Number(velocity_vs_usual.toFixed(DIGITS)), score: Number(score.toFixed(DIGITS)) }
}

test(
  'all lists of a month with baselines, labels, stops and lost state equal the lists that are computed offline',
  () => {
    const random = seededRandom(SEED)
    const { driver, chat, leap, seen } = simulation(random)
    leap(MINUTE)
    while (driver.now < START + DAYS * DAY) {
      for (let session = 1 + integer(random, 3); session > 0; session--) {
        chat()
        if (random() < 0.5) driver.settle()
        if (random() < 0.2) driver.restart({ wipeState: random() < 0.5 })
        leap((1 + integer(random, 40)) * MINUTE)
      }
      chat()
      // Most stops are long enough to end near the same hour of the next day.
      const stop = pick(random, [HOUR, 3 * HOUR, 18 * HOUR, 22 * HOUR, 24 * HOUR, 24 * HOUR])
      driver.restart({ downMs: stop })
      leap(MINUTE)
    }
    expect(seen.lists).toBeGreaterThan(300)
    expect(seen.labels).toBeGreaterThan(20)
    expect(seen.variants).toBeGreaterThan(20)
  },
  TIMEOUT_MS,
)
