import { expect, test } from 'vitest'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { block, leap, MINUTE, restartIds, SECOND, START, send } from './driving.ts'
import { offlineTrends, type SentTweet } from './offline.ts'

const PLACES = [2459115, 2379574, 44418, 23424977]
const TERMS = ['sandy', '#Obama', 'good morning', 'goal', 'quake']
const USERS = 60
const TWEETS = 40
const PARTITIONS = 4
const STUCK = 1
const STEP = 30 * SECOND
/** Number of rounds of half an hour before a partition gets stuck: enough for baselines and labels. */
const ROUNDS_BEFORE = 8
const ROUND = 30 * MINUTE
const ROUNDS_STUCK = 4
/**
 * Number of longer rounds while the partition is stuck. They last so long that the hour in which the partition got
 * stuck would be final if the partition were not stuck.
 */
const LONG_ROUNDS_STUCK = 4
const LONG_ROUND = 50 * MINUTE
/** Terms that are first sent while the partition is stuck, so that they first occur in incomplete lists. */
const NEW_TERMS = ['eclipse', 'strike']
/**
 * Number of steps per round while the partition is stuck. A round must last longer than a minute, because the
 * incomplete lists of a round are published a minute late.
 */
const STEPS_STUCK = 8
/**
 * Number of short rounds after the partition continues. They are so short that lists have rank changes, which compare a
 * list with a list of the previous ten minutes.
 */
const SHORT_ROUNDS_AFTER = 3
const SHORT_ROUND = 5 * MINUTE
/** Number of long rounds afterwards: enough for the new terms to have baselines. */
const ROUNDS_AFTER = 9
/**
 * Number of digits to which fractions are compared. The offline computation adds numbers in a different order, so the
 * last digits may differ.
 */
const DIGITS = 9

test('lists that lack a stuck partition, and lists after the partition continues, equal the lists that are computed offline', () => {
  restartIds()
  const random = seededRandom(7)
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const sent: SentTweet[] = []
  const offline = offlineTrends(sent)
  const seen = { complete: 0, incomplete: 0, labels: 0 }
  let stuckFrom = Infinity
  const isMissing = ({ tweet, sentAt }: SentTweet) =>
    sentAt >= stuckFrom && partitionFor(Buffer.from(String(tweet.user_id)), PARTITIONS) === STUCK

  /** Sends tweets, and compares the lists that the pipeline publishes with the offline computation. */
  function round(terms: readonly string[], ...stepsMs: readonly number[]): void {
    for (let i = 0; i < TWEETS; i++) {
      const user_id = BigInt(integer(random, USERS))
      const tweet = send(driver, { user_id, hashtags: [pick(random, terms), pick(random, terms)], woeid: pick(random, PLACES) })
      sent.push({ tweet, sentAt: driver.now })
    }
    const sentAt = driver.now
    for (const ms of stepsMs) {
      leap(driver, ms)
      compare(sentAt)
    }
  }

  function compare(lastSentAt: number): void {
    const lists = [...driver.read(trendOutput), ...driver.read(trendRenewals)].map(({ value }) => value as TrendOutput)
    for (const [windowEnd, ofWindow] of [...Map.groupBy(lists, (list) => list.window_end)].sort(([a], [b]) => a - b)) {
      expect(ofWindow).toHaveLength(551)
      const missing = ofWindow[0].missing_partitions
      const expected = offline.listsAt(windowEnd, missing > 0 ? isMissing : undefined)
      // Skips incomplete lists whose samples may already contain tweets from the minute after their window.
      if (missing > 0 && windowEnd < lastSentAt) continue
      for (const { woeid, entries, missing_partitions } of ofWindow) {
        expect(missing_partitions).toBe(missing)
        expect(entries.map(rounded)).toEqual((expected.get(woeid) ?? []).map(rounded))
        seen.labels += entries.filter(({ label }) => label !== null).length
      }
      seen[missing > 0 ? 'incomplete' : 'complete']++
    }
  }

  leap(driver, STEP)
  const allTerms = [...TERMS, ...NEW_TERMS]
  const shortSteps = new Array<number>(STEPS_STUCK).fill(STEP)
  for (let i = 0; i < ROUNDS_BEFORE; i++) round(TERMS, ROUND)
  stuckFrom = driver.now
  block(driver, tweets.name, STUCK)
  for (let i = 0; i < LONG_ROUNDS_STUCK; i++) round(allTerms, LONG_ROUND, ...shortSteps)
  for (let i = 0; i < ROUNDS_STUCK; i++) round(allTerms, ...shortSteps)
  driver.restart()
  for (let i = 0; i < SHORT_ROUNDS_AFTER; i++) round(allTerms, SHORT_ROUND)
  for (let i = 0; i < ROUNDS_AFTER; i++) round(allTerms, ROUND)
  expect(seen.complete).toBeGreaterThanOrEqual(ROUNDS_BEFORE + SHORT_ROUNDS_AFTER + ROUNDS_AFTER)
  expect(seen.incomplete).toBeGreaterThan(LONG_ROUNDS_STUCK + ROUNDS_STUCK)
  expect(seen.labels).toBeGreaterThan(0)
})

function rounded(entry: TrendEntry): TrendEntry {
  const { velocity_vs_usual, score } = entry
  return { ...entry, velocity_vs_usual: Number(velocity_vs_usual.toFixed(DIGITS)), score: Number(score.toFixed(DIGITS)) }
}
