import { expect, test } from 'vitest'
import { type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { StateCorrupted } from '../../../state/stores/errors.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { HOUR, LONDON, leap, MINUTE, NEW_YORK, newestLists, START, send, UNITED_STATES, WORLD } from './driving.ts'

const CHICAGO = 2379574

/** Returns, for each region, the volume and number of users of its only term. */
function usersIn(driver: TestDriver, ...woeids: number[]): (number | null)[][] {
  const lists = newestLists(driver)
  return woeids.map((woeid) => lists.get(woeid)!.entries.flatMap(({ tweet_volume, users }) => [tweet_volume, users]))
}

test.each([
  { users: 19, tweets: 3 },
  { users: 20, tweets: 1 },
  { users: 21, tweets: 1 },
  { users: 21, tweets: 2 },
  { users: 400, tweets: 3 },
])('$users users with $tweets tweets each are counted exactly, even after the state is lost', ({ users, tweets }) => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let i = 0; i < tweets; i++) {
    for (let user = 1; user <= users; user++) send(driver, { user_id: BigInt(user), hashtags: ['sandy'] })
    leap(driver, 5 * MINUTE)
  }
  expect(usersIn(driver, NEW_YORK, UNITED_STATES, WORLD)).toEqual([1, 2, 3].map(() => [users * tweets, users]))
  driver.restart({ wipeState: true })
  send(driver, { user_id: 1n, hashtags: ['sandy'], created_at: driver.now - 2 * MINUTE })
  leap(driver, MINUTE)
  // The additional tweet of user 1 counts only if this user has fewer than three tweets so far.
  const volume = users * tweets + (tweets < 3 ? 1 : 0)
  expect(usersIn(driver, NEW_YORK)).toEqual([[volume, users]])
})

test('a user no longer counts once their last tweet leaves the window, regardless of the order of arrival', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const tweet = (user: number, minutesAgo: number) =>
    send(driver, { user_id: BigInt(user), hashtags: ['sandy'], created_at: driver.now - minutesAgo * MINUTE })
  for (let user = 0; user < 50; user++) tweet(user, 30)
  for (let user = 0; user < 50; user += 2) tweet(user, 50)
  for (let user = 0; user < 50; user += 5) tweet(user, 10)
  leap(driver, MINUTE)
  expect(usersIn(driver, WORLD)).toEqual([[85, 50]])
  leap(driver, 10 * MINUTE)
  expect(usersIn(driver, WORLD)).toEqual([[60, 50]])
  leap(driver, 20 * MINUTE)
  expect(usersIn(driver, WORLD)).toEqual([[10, 10]])
  leap(driver, HOUR)
  expect(usersIn(driver, WORLD)).toEqual([[]])
})

test('a user counts once in each region, wherever the tweets come from', () => {
  const driver = testDriver(trends, { startAt: START })
  for (let user = 0; user < 40; user++) {
    const user_id = BigInt(user)
    send(driver, { user_id, hashtags: ['sandy'], woeid: NEW_YORK })
    if (user < 20) send(driver, { user_id, hashtags: ['sandy'], woeid: CHICAGO })
    if (user < 10) send(driver, { user_id, hashtags: ['sandy'], woeid: user < 5 ? LONDON : NEW_YORK })
  }
  driver.advanceWallClock(MINUTE)
  expect(usersIn(driver, NEW_YORK, CHICAGO, UNITED_STATES, LONDON, WORLD)).toEqual([
    [45, 40],
    [20, 20],
    [65, 40],
    [5, 5],
    [70, 40],
  ])
})

test('a repeated tweet does not count its user again', () => {
  const driver = testDriver(trends, { startAt: START })
  const tweet = send(driver, { user_id: 7n, hashtags: ['sandy'] })
  send(driver, { ...tweet })
  send(driver, { user_id: 8n, hashtags: ['sandy'] })
  driver.advanceWallClock(MINUTE)
  expect(usersIn(driver, WORLD)).toEqual([[3, 2]])
})

test('damaged contributions of a user are reported as damaged state, and the tweet does not become a dead letter', () => {
  const backend = memoryBackend()
  const driver = testDriver(trends, { startAt: START, openState: () => backend })
  const tweet = () => send(driver, { user_id: 1n, hashtags: ['sandy'] })
  tweet()
  driver.restart()
  const session = backend.session(trends.name)
  const key = Buffer.from('1')
  const truncated = Buffer.from([1])
  for (const partition of [0, 1, 2, 3]) session.column('user-terms', partition).put(key, 0, key.length, truncated, 0, truncated.length)
  session.write()
  expect(tweet).toThrow(expect.objectContaining({ cause: expect.any(StateCorrupted) }))
})
