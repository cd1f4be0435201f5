import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { regions } from '../../../schemas/trends/places/regions.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendOutput, Tweet } from '../../../schemas/trends/types.ts'
import { expectEqual } from '../../expect-equal.ts'
import { offlineTrends, type SentTweet } from './offline.ts'
import { publishedVolumes } from './volumes.ts'

const START = Date.UTC(2026, 0, 1, 12, 0, 1)
const MINUTE = 60_000
const RENEWAL = 30_000
/** How long the pipeline delays a renewal, so that tweets in flight arrive first. */
const ARRIVAL_DELAY_MS = 2_000
/** Time limit of the test. The test takes about ten seconds on one core, and many times as long on a busy machine. */
const TIMEOUT_MS = 600_000
/** WOEIDs of New York, Chicago, London, the United States and the world, and an unknown one. */
const PLACES = [2459115, 2379574, 44418, 23424977, 1, 99]
const ORIGINALS = ['#Sandy', 'sandy', 'SANDY', 'Hurricane Sandy', 'hurricane sandy', '#obama', 'a', 'b', 'c', '#', 'ＯＢＡＭＡ']

const tweetFields = fc.record({
  user_id: fc.bigInt({ min: 1n, max: 6n }),
  hashtags: fc.array(fc.constantFrom(...ORIGINALS), { maxLength: 2 }),
  phrases: fc.array(fc.constantFrom(...ORIGINALS), { maxLength: 2 }),
  woeid: fc.constantFrom(...PLACES),
  bot_score: fc.constantFrom(0, 0.5, 0.75),
  lang: fc.constantFrom('en', 'pt', 'fil', 'und'),
  /**
   * Time from the creation of a tweet until it is sent, in ms. Most tweets are sent within 20 seconds. Some are late or
   * too late. The creation times of some tweets are in the future or too far in the future.
   */
  delay: fc.oneof({ weight: 5, arbitrary: fc.nat(20_000) }, fc.integer({ min: -7 * MINUTE, max: 75 * MINUTE })),
})
const step = fc.oneof(
  { weight: 12, arbitrary: tweetFields.map((fields) => ({ kind: 'tweet' as const, fields })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ users: fc.integer({ min: 4, max: 45 }), terms: fc.array(fc.constantFrom(...ORIGINALS), { minLength: 1, maxLength: 2 }) })
      .map((fields) => ({ kind: 'crowd' as const, ...fields })),
  },
  { weight: 6, arbitrary: fc.integer({ min: 1_000, max: 3 * MINUTE }).map((ms) => ({ kind: 'wait' as const, ms })) },
  { weight: 1, arbitrary: fc.integer({ min: 20 * MINUTE, max: 70 * MINUTE }).map((ms) => ({ kind: 'wait' as const, ms })) },
  { weight: 1, arbitrary: fc.boolean().map((wipeState) => ({ kind: 'restart' as const, wipeState })) },
)

interface Tick {
  readonly at: number
}

function publishedLists(driver: TestDriver): TrendOutput[] {
  return [...driver.read(trendOutput), ...driver.read(trendRenewals)].map((record) => record.value as TrendOutput)
}

/** Returns the ends of the windows whose lists are due after `from` and up to `to`. */
function ticksBetween(from: number, to: number): Tick[] {
  const ticks: Tick[] = []
  for (let at = Math.ceil((from + 1 - ARRIVAL_DELAY_MS) / RENEWAL) * RENEWAL; at + ARRIVAL_DELAY_MS <= to; at += RENEWAL) ticks.push({ at })
  return ticks
}

/**
 * Returns whether lists are renewed in this millisecond. No tweet is sent at such a time, because it could be processed
 * before or after the renewal.
 */
function isRenewal(at: number): boolean {
  return (at - ARRIVAL_DELAY_MS) % RENEWAL === 0
}

test(
  'even with late tweets, waits and restarts, the lists of every renewal equal the lists that are computed offline',
  () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const driver = testDriver(trends, { startAt: START, cacheBytes: 1_000 })
        const sent: SentTweet[] = []
        const windowEnds: number[] = []
        let id = 2n ** 60n
        const send = (fields: Omit<Tweet, 'tweet_id' | 'text'>) => {
          const tweet: Tweet = { tweet_id: id++, text: '', ...fields }
          driver.pipe(tweets, tweet.user_id, tweet)
          sent.push({ tweet, sentAt: driver.now })
        }
        const crowd = (users: number, terms: string[]) => {
          for (let user = 0; user < users; user++)
            send({
              user_id: BigInt(100 + user),
              hashtags: terms,
              phrases: [],
              woeid: PLACES[0],
              bot_score: 0,
              lang: 'es',
              created_at: driver.now,
            })
        }
        const wait = (atLeastMs: number) => {
          const ms = atLeastMs + (isRenewal(driver.now + atLeastMs) ? 1 : 0)
          windowEnds.push(...ticksBetween(driver.now, driver.now + ms).map(({ at }) => at))
          driver.advanceWallClock(ms)
        }
        for (const each of steps) {
          if (each.kind === 'restart') driver.restart({ wipeState: each.wipeState })
          else if (each.kind === 'wait') wait(each.ms)
          else if (each.kind === 'crowd') crowd(each.users, each.terms)
          else {
            const { delay, ...fields } = each.fields
            send({ ...fields, created_at: driver.now - delay })
          }
        }
        wait(2 * MINUTE)
        const lists = Map.groupBy(publishedLists(driver), ({ window_end }) => window_end)
        const offline = offlineTrends(sent)
        // A worker that starts also publishes the last renewal that was due. Its window ends before the start, so the
        // test checks only the expected windows.
        for (const windowEnd of windowEnds) {
          const expected = offline.listsAt(windowEnd)
          const listsOfIt = lists.get(windowEnd) ?? []
          expect(listsOfIt).toHaveLength(551)
          for (const { woeid, entries } of listsOfIt) expectEqual(entries, expected.get(woeid) ?? [])
        }
        expectVolumes(driver, offline)
      }),
      { numRuns: 5 },
    )
  },
  TIMEOUT_MS,
)

/**
 * Asserts that the published volumes of a minute never decrease, and that the last one equals the count of the minute.
 */
function expectVolumes(driver: TestDriver, offline: ReturnType<typeof offlineTrends>): void {
  const published = new Map<string, number>()
  for (const { woeid, term, minute, volume } of publishedVolumes(driver)) {
    const key = `${woeid} ${term} ${minute}`
    expect(volume).toBeGreaterThanOrEqual(published.get(key) ?? 0)
    published.set(key, volume)
  }
  const expected = new Map<string, number>()
  for (const { woeid } of regions) {
    for (const [term, minutes] of offline.volumes(woeid))
      for (const [minute, volume] of minutes) expected.set(`${woeid} ${term} ${minute}`, volume)
  }
  expect(published).toEqual(expected)
}
