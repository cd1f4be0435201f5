import type { TestDriver } from '../../../pipelines/engine/testing.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendOutput, Tweet } from '../../../schemas/trends/types.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const START = Date.UTC(2026, 0, 1, 12, 0, 10)
export const NEW_YORK = 2459115
export const UNITED_STATES = 23424977
export const LONDON = 44418
export const WORLD = 1

const FIRST_ID = 2n ** 60n
let nextId = FIRST_ID

/** Restarts the sequence of tweet ids, so that a repeated run gets the same ids. */
export function restartIds(): void {
  nextId = FIRST_ID
}

/** Sends a tweet, by default from a new user. */
export function send(driver: TestDriver, fields: Partial<Tweet>): Tweet {
  const tweet_id = nextId++
  const tweet: Tweet = {
    tweet_id,
    user_id: tweet_id,
    text: '',
    hashtags: [],
    phrases: [],
    lang: 'en',
    woeid: NEW_YORK,
    bot_score: 0,
    created_at: driver.now,
    ...fields,
  }
  driver.pipe(tweets, tweet.user_id, tweet)
  return tweet
}

/** Returns the newest list of each region, out of those published since the last call. */
export function newestLists(driver: TestDriver): Map<number, TrendOutput> {
  const all = [...driver.read(trendOutput), ...driver.read(trendRenewals)].map((record) => record.value as TrendOutput)
  all.sort((a, b) => a.window_end - b.window_end)
  return new Map(all.map((list) => [list.woeid, list]))
}

export function entriesOf(driver: TestDriver, woeid: number): TrendOutput['entries'] {
  return newestLists(driver).get(woeid)?.entries ?? []
}

/**
 * Advances the clock, and then settles. A driver with manual commits publishes no lists in between, as if the pipeline
 * had been stopped.
 */
export function leap(driver: TestDriver, ms: number): void {
  driver.advanceWallClock(ms)
  driver.settle()
}

/** Makes a task stop reading until the driver restarts. */
export function block(driver: TestDriver, source: string, partition: number): void {
  const task = driver.tasks.find((each) => each.part.sources.includes(source) && each.partition === partition)!
  // A task that seems to have queued records gets no further records.
  Object.defineProperties(task, { queuedRecords: { value: 1 }, idles: { value: false }, run: { value: () => 'idle' } })
}
