import { expect, test } from 'vitest'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { replayDeadLetters } from '../../../pipelines/engine/dlq/replay.ts'
import { memoryTransport, type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { tweets } from '../../../schemas/trends/topics.ts'
import { block, entriesOf, HOUR, leap, MINUTE, NEW_YORK, SECOND, START, send } from './driving.ts'
import { historyOf } from './volumes.ts'

/** How far the producer's clock is ahead. The tweets of this producer become dead letters. */
const AHEAD = 10 * MINUTE

/** Returns the volumes in New York that the history would show, by the minutes since the start. */
function historyByMinute(driver: TestDriver): Record<number, number> {
  const rows = historyOf(driver).filter(({ woeid }) => woeid === NEW_YORK)
  return Object.fromEntries(rows.map(({ minute, volume }) => [Math.round((minute - START) / MINUTE), volume]))
}

test('the history contains the count of a minute even if the minute leaves the state of the term before the count is published, and the worker then crashes', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  let user = 0n
  const userOfFirstPartition = () => {
    do user++
    while (partitionFor(Buffer.from(String(user)), 4) !== 0)
    return user
  }
  // Counts are published together with the lists. While two of the four partitions of the tweets are stuck, no lists
  // are published.
  for (const partition of [1, 2]) block(driver, tweets.name, partition)
  for (let i = 0; i < 40; i++) send(driver, { user_id: userOfFirstPartition(), hashtags: ['outage'] })
  driver.settle()
  driver.advanceWallClock(3 * HOUR)
  send(driver, { user_id: userOfFirstPartition(), hashtags: ['outage'] })
  driver.settle()
  driver.restart()
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  expect(historyByMinute(driver)).toEqual({ 0: 40, 180: 1 })
})

test.each([
  { kind: 'rare', users: 3 },
  { kind: 'frequent', users: 40 },
])('dead letters of a $kind term that are replayed after days add to the history of their minute', async ({ users }) => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let i = 0; i < 2; i++) send(driver, { hashtags: ['mended'], created_at: START + AHEAD })
  leap(driver, AHEAD)
  for (let i = 0; i < users; i++) send(driver, { hashtags: ['mended'] })
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  for (let day = 0; day < 2; day++) {
    driver.restart({ downMs: 25 * HOUR })
    for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  }
  expect(await replayDeadLetters(memoryTransport(driver.broker), 'trends')).toMatchObject({ replayed: 2 })
  const minute = Math.floor((driver.now - START) / MINUTE)
  send(driver, { hashtags: ['mended'] })
  for (let i = 0; i < 2; i++) leap(driver, 30 * SECOND)
  expect(entriesOf(driver, NEW_YORK)).toMatchObject([{ term: 'mended', tweet_volume: 1, volume_24h: 1 }])
  for (let i = 0; i < 2; i++) leap(driver, 30 * SECOND)
  expect(historyByMinute(driver)).toEqual({ 10: users + 2, [minute]: 1 })
})

test('a user whose dead letters are replayed still adds at most three contributions to a term within an hour', async () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let i = 0; i < 5; i++) send(driver, { user_id: 7n, hashtags: ['spam'], created_at: START + AHEAD })
  driver.settle()
  driver.restart({ downMs: 4 * HOUR })
  send(driver, { user_id: 7n, hashtags: ['other'] })
  leap(driver, MINUTE)
  historyByMinute(driver)
  expect(await replayDeadLetters(memoryTransport(driver.broker), 'trends')).toMatchObject({ replayed: 5 })
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  expect(historyByMinute(driver)).toEqual({ 10: 3 })
})
