import { beforeEach, expect, test } from 'vitest'
import { type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { entriesOf, HOUR, LONDON, leap, MINUTE, NEW_YORK, newestLists, restartIds, START, send, UNITED_STATES, WORLD } from './driving.ts'

// The overlap of two terms is estimated from a sample of tweets, and the tweet ids determine the sample. Each test
// therefore uses the same ids in every run.
beforeEach(restartIds)

/** Sends tweets from new users. */
function tweet(driver: TestDriver, times: number, ...phrases: string[]): void {
  for (let i = 0; i < times; i++) send(driver, { phrases })
}

test('two spellings that share most of their tweets are one trend in each region', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  tweet(driver, 30, 'Boston Marathon', '#BostonMarathon')
  tweet(driver, 12, 'Boston Marathon')
  tweet(driver, 4, '#BostonMarathon')
  tweet(driver, 25, 'red sox')
  tweet(driver, 9, 'red sox', 'Boston Marathon')
  leap(driver, MINUTE)
  const lists = newestLists(driver)
  for (const woeid of [NEW_YORK, UNITED_STATES, WORLD]) {
    expect(lists.get(woeid)?.entries).toMatchObject([
      { term: 'boston marathon', tweet_volume: 51, users: 51, variants: ['#BostonMarathon'] },
      { term: 'red sox', tweet_volume: 34, variants: [] },
    ])
  }
})

test('when trends are folded into one, the trends below them move up', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  tweet(driver, 8, 'a', 'b', 'c', 'd')
  for (let i = 0; i < 40; i++) tweet(driver, 5, `t${i}`)
  leap(driver, MINUTE)
  const entries = entriesOf(driver, WORLD)
  expect(entries).toHaveLength(41)
  expect(entries[0]).toMatchObject({ term: 'a', variants: ['b', 'c', 'd'], peak_rank: 1 })
  expect(entries.filter(({ peak_rank }) => peak_rank !== null)).toHaveLength(30)
})

test('a topic keeps its start and its ranks when another term becomes its leading term', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  tweet(driver, 10, 'first', 'second')
  tweet(driver, 3, 'first')
  tweet(driver, 20, 'above')
  leap(driver, MINUTE)
  const started = entriesOf(driver, WORLD)
  expect(started).toMatchObject([{ term: 'above' }, { term: 'first', variants: ['second'], peak_rank: 2 }])
  leap(driver, 12 * MINUTE)
  tweet(driver, 6, 'second')
  leap(driver, MINUTE)
  expect(entriesOf(driver, WORLD)).toMatchObject([
    { term: 'above' },
    { term: 'second', variants: ['first'], trending_since: started[1].trending_since, rank_change: 0, peak_rank: 2 },
  ])
  // When the terms become separate topics, each of them keeps the start of the trend.
  tweet(driver, 30, 'first')
  leap(driver, MINUTE)
  const alone = entriesOf(driver, WORLD)
  expect(alone.map(({ term, variants }) => [term, variants.length])).toEqual([
    ['first', 0],
    ['above', 0],
    ['second', 0],
  ])
  expect(alone[0].trending_since).toBe(started[1].trending_since)
  expect(alone[2].trending_since).toBe(started[1].trending_since)
})

test('terms are folded only in regions in which they share most of their tweets, and only while these tweets are in the window', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  tweet(driver, 10, 'storm', 'flood')
  for (let i = 0; i < 30; i++)
    send(driver, { phrases: [i % 2 === 0 ? 'storm' : 'flood'], woeid: LONDON, created_at: driver.now - 40 * MINUTE })
  const variantsIn = () => {
    const lists = newestLists(driver)
    return [NEW_YORK, LONDON, WORLD].map((woeid) => lists.get(woeid)!.entries.map(({ variants }) => variants.length))
  }
  leap(driver, MINUTE)
  expect(variantsIn()).toEqual([[1], [0, 0], [0, 0]])
  leap(driver, 20 * MINUTE)
  expect(variantsIn()).toEqual([[1], [], [1]])
  leap(driver, HOUR)
  expect(variantsIn()).toEqual([[], [], []])
})

test('the drawn tweets of frequent terms survive the loss of the state', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let minute = 0; minute < 50; minute++) {
    tweet(driver, 8, 'storm', '#Storm2', 'flood')
    tweet(driver, 4, 'storm')
    tweet(driver, 30, 'flood')
    leap(driver, MINUTE)
  }
  const before = entriesOf(driver, WORLD)
  expect(before).toMatchObject([
    { term: 'flood', variants: [] },
    { term: 'storm', variants: ['#Storm2'] },
  ])
  expect(before[1].typical_tweet).not.toBeNull()
  driver.restart({ wipeState: true })
  leap(driver, MINUTE)
  const [, storm] = entriesOf(driver, WORLD)
  expect(storm).toMatchObject({ variants: ['#Storm2'], related: before[1].related, typical_tweet: before[1].typical_tweet })
})
