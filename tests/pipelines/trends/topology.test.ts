import { expect, test } from 'vitest'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { replayDeadLetters } from '../../../pipelines/engine/dlq/replay.ts'
import { avro, type KeyedStore, utf8 } from '../../../pipelines/engine/index.ts'
import { memoryTransport, type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { regions } from '../../../schemas/trends/places/regions.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendOutput, Tweet } from '../../../schemas/trends/types.ts'
import {
  block,
  entriesOf,
  HOUR,
  leap,
  MINUTE,
  NEW_YORK,
  newestLists,
  restartIds,
  SECOND,
  START,
  send,
  UNITED_STATES,
  WORLD,
} from './driving.ts'
import { historyOf, publishedVolumes } from './volumes.ts'

const WEEK = 168 * HOUR
const TERM_LENGTH = 140
/** Time limit of tests that advance the clock by a week. They are slow, because the driver stops at every tick. */
const WEEK_TIMEOUT_MS = 30_000

function volumesOf(entries: TrendOutput['entries']): Record<string, number> {
  return Object.fromEntries(entries.map((entry) => [entry.term, entry.tweet_volume]))
}

/** Returns the smallest user id that is at least `from` and whose tweets are in the given partition. */
function userIn(partition: number, from: number): bigint {
  for (let user = from; ; user++) if (partitionFor(Buffer.from(String(user)), 4) === partition) return BigInt(user)
}

function advanceTo(driver: TestDriver, time: number): void {
  driver.advanceWallClock(time - driver.now)
}

test('a tweet counts in its city, its country and the world', () => {
  const driver = testDriver(trends, { startAt: START })
  const sample = send(driver, { hashtags: ['#Sandy'], phrases: ['hurricane sandy'] })
  driver.advanceWallClock(MINUTE)
  const found = newestLists(driver)
  expect(found.size).toBe(551)
  for (const woeid of [NEW_YORK, UNITED_STATES, WORLD]) {
    expect(found.get(woeid)?.entries).toMatchObject([
      { term: 'hurricane sandy', name: 'hurricane sandy', tweet_volume: 1, volume_24h: 1, velocity: 1, sample_tweets: [sample.tweet_id] },
      { term: 'sandy', name: '#Sandy', tweet_volume: 1 },
    ])
  }
  const others = regions.filter(({ woeid }) => ![NEW_YORK, UNITED_STATES, WORLD].includes(woeid))
  expect(others.every(({ woeid }) => found.get(woeid)?.entries.length === 0)).toBe(true)
})

test('3,000 terms of the maximum length from one user, and spellings of 700,000 characters, produce no record that a broker would refuse', () => {
  const driver = testDriver(trends, { startAt: START })
  const longTerm = (i: number) => `${i}`.padStart(TERM_LENGTH, '界')
  for (let sent = 0; sent < 3_000; sent += 500)
    send(driver, { user_id: 7n, phrases: Array.from({ length: 500 }, (_, i) => longTerm(sent + i)) })
  for (let i = 0; i < 20; i++) send(driver, { hashtags: [`${'#'.repeat(700_000 + i)}a`, `${'#'.repeat(i)}short`] })
  send(driver, { hashtags: ['#Sandy'] })
  expect(driver.metrics.counts.get('trends_terms_refused')).toBe(1_000)
  advanceTo(driver, START + 25 * SECOND)
  const terms = entriesOf(driver, WORLD).map(({ term }) => term)
  expect(terms).toContain('sandy')
  expect(terms).toContain('short')
  expect(terms).not.toContain('a')
  // A user at the limit can still contribute to the remembered terms. Contributions to other terms count again only
  // once the remembered terms are forgotten.
  send(driver, { user_id: 7n, phrases: [longTerm(0), longTerm(3_000)] })
  expect(driver.metrics.counts.get('trends_terms_refused')).toBe(1_001)
  driver.restart({ downMs: 3 * HOUR })
  send(driver, { user_id: 7n, phrases: [longTerm(3_000)] })
  expect(driver.metrics.counts.get('trends_terms_refused')).toBe(1_001)
})

test("a user's remembered terms are dropped after more than two hours, which makes room for the terms of another tweet", () => {
  const driver = testDriver(trends, { startAt: START })
  const phrases = (from: number, count: number) => Array.from({ length: count }, (_, i) => `term ${from + i}`)
  for (const from of [0, 499, 998, 1_497]) send(driver, { user_id: 7n, phrases: phrases(from, 499) })
  driver.restart({ downMs: 3 * HOUR })
  send(driver, { user_id: 7n, phrases: phrases(2_000, 10) })
  expect(driver.metrics.counts.get('trends_terms_refused')).toBeUndefined()
})

test('a tweet from a country counts there and worldwide, and a tweet from an unknown place counts only worldwide', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['country'], woeid: UNITED_STATES })
  send(driver, { hashtags: ['nowhere'], woeid: 4711 })
  driver.advanceWallClock(MINUTE)
  const found = newestLists(driver)
  expect(volumesOf(found.get(WORLD)!.entries)).toEqual({ country: 1, nowhere: 1 })
  expect(volumesOf(found.get(UNITED_STATES)!.entries)).toEqual({ country: 1 })
  expect(found.get(NEW_YORK)!.entries).toEqual([])
  expect(driver.metrics.counts.get('trends_unknown_woeid')).toBe(1)
})

test('spellings of a term are one trend, which counts once per tweet and shows the most frequent spelling', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['#SANDY', 'sandy', '#Sandy'] })
  send(driver, { hashtags: ['#Sandy'] })
  send(driver, { hashtags: ['＃Ｓａｎｄｙ'], phrases: ['#Sandy'] })
  send(driver, { phrases: ['#Sandy'] })
  driver.advanceWallClock(MINUTE)
  expect(entriesOf(driver, WORLD)).toMatchObject([{ term: 'sandy', name: '#Sandy', tweet_volume: 4 }])
})

test('tweets whose bot score is above 0.7 are dropped', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['spam'], bot_score: 0.71 })
  send(driver, { hashtags: ['fine'], bot_score: 0.7 })
  driver.advanceWallClock(MINUTE)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ fine: 1 })
  expect(driver.metrics.dropped.get('bot')).toBe(1)
})

test('one user contributes at most three tweets per hour to a term, across all regions', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (const woeid of [NEW_YORK, 44418, NEW_YORK, 44418, NEW_YORK]) send(driver, { user_id: 7n, hashtags: ['#vote'], woeid })
  send(driver, { user_id: 7n, hashtags: ['#other'] })
  send(driver, { user_id: 8n, hashtags: ['#vote'] })
  leap(driver, MINUTE)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ vote: 4, other: 1 })
  expect(driver.metrics.counts.get('trends_contributions_capped')).toBe(2)
  leap(driver, HOUR)
  send(driver, { user_id: 7n, hashtags: ['#vote'] })
  leap(driver, MINUTE)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ vote: 1 })
})

test('a tweet whose bot score is not a number becomes a dead letter', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['unknown'], bot_score: Number.NaN })
  send(driver, { hashtags: ['fine'] })
  driver.advanceWallClock(30 * SECOND)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ fine: 1 })
  const [letter] = driver.readDeadLetters()
  expect(letter.headers.map(({ value }) => value?.toString())).toContain('bad_bot_score')
})

test('a tweet counts at its creation time if this time is at most 59 minutes in the past or 5 minutes in the future', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['late'], created_at: START - 59 * MINUTE })
  send(driver, { hashtags: ['too late'], created_at: START - 60 * MINUTE })
  send(driver, { hashtags: ['ahead'], created_at: START + 5 * MINUTE })
  send(driver, { hashtags: ['too far ahead'], created_at: START + 5 * MINUTE + 1 })
  driver.advanceWallClock(30 * SECOND)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ late: 1 })
  expect(driver.metrics.late).toBe(1)
  const [letter] = driver.readDeadLetters()
  expect(letter.headers.map(({ value }) => value?.toString())).toContain('created_in_the_future')
  driver.advanceWallClock(6 * MINUTE)
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ ahead: 1 })
})

test('the creation time decides whether a tweet is late, even if its producer sets the timestamp of the record', () => {
  const driver = testDriver(trends, { startAt: START })
  const created_at = START - 3 * HOUR
  const tweet: Tweet = {
    tweet_id: 1n,
    user_id: 1n,
    text: '',
    hashtags: ['old'],
    phrases: [],
    lang: 'en',
    woeid: WORLD,
    bot_score: 0,
    created_at,
  }
  driver.pipe(tweets, tweet.user_id, tweet, { timestamp: created_at })
  driver.advanceWallClock(MINUTE)
  expect(driver.metrics.late).toBe(1)
  expect(publishedVolumes(driver)).toEqual([])
})

test('a tweet that is replayed from the dead letters hours later counts in the minute of its created_at', async () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const { created_at } = send(driver, { hashtags: ['mended'], created_at: START + 10 * MINUTE })
  driver.settle()
  driver.restart({ downMs: 3 * HOUR })
  expect(await replayDeadLetters(memoryTransport(driver.broker), 'trends')).toMatchObject({ replayed: 1 })
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  const volumes = publishedVolumes(driver)
  expect(volumes.map(({ term, minute }) => `${term} ${minute}`)).toContain(`mended ${created_at - (created_at % MINUTE)}`)
})

test('tweets that waited for a stopped pipeline count in the daily volume and the history, although their window has ended', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  driver.settle()
  for (let i = 0; i < 3; i++) send(driver, { user_id: 7n, hashtags: ['outage'] })
  driver.advanceWallClock(3 * HOUR)
  send(driver, { user_id: 7n, hashtags: ['outage'] })
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  expect(entriesOf(driver, WORLD)).toMatchObject([{ term: 'outage', tweet_volume: 1, volume_24h: 4 }])
  const volumes = publishedVolumes(driver).filter(({ woeid }) => woeid === WORLD)
  expect(volumes.map(({ volume }) => volume)).toEqual(expect.arrayContaining([3, 1]))
})

test('after a renewal is skipped because it is minutes late, the next list and the history are complete', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  driver.settle()
  driver.read(trendOutput)
  send(driver, { hashtags: ['busy'] })
  advanceTo(driver, START + 52 * SECOND)
  // The first stage sends its counts and then the marker for 12:01. The other stages reach this time only four minutes
  // later.
  driver.commit()
  driver.restart({ downMs: 4 * MINUTE })
  driver.settle()
  const snapshots = driver.read(trendOutput).map(({ value }) => value as TrendOutput)
  expect(new Set(snapshots.map(({ window_end }) => window_end))).toEqual(new Set([START - 10 * SECOND + 5 * MINUTE]))
  expect(snapshots).toHaveLength(551)
  expect(snapshots.find(({ woeid }) => woeid === WORLD)?.entries).toMatchObject([{ term: 'busy', tweet_volume: 1 }])
  expect(driver.metrics.counts.get('times_passed_over')).toBe(4)
  const volumes = publishedVolumes(driver)
  expect(volumes).toContainEqual({ woeid: WORLD, term: 'busy', minute: START - 10 * SECOND, volume: 1 })
})

test('without input, windows slide until they are empty', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['once'] })
  advanceTo(driver, START + 59 * MINUTE)
  expect(volumesOf(entriesOf(driver, NEW_YORK))).toEqual({ once: 1 })
  driver.advanceWallClock(2 * MINUTE)
  expect(entriesOf(driver, NEW_YORK)).toEqual([])
})

test('the list of a whole minute leaves out the minute that begins then, and the list of a half minute includes the current minute', () => {
  const driver = testDriver(trends, { startAt: START })
  advanceTo(driver, START + 51 * SECOND)
  send(driver, { hashtags: ['second minute'] })
  driver.advanceWallClock(SECOND)
  const records = driver.read(trendOutput)
  const snapshots = records.map(({ value }) => value as TrendOutput)
  expect(snapshots).toHaveLength(551)
  expect(snapshots.every(({ entries, window_end }) => entries.length === 0 && window_end % MINUTE === 0)).toBe(true)
  // The sink finds recent lists by the timestamps of their records.
  expect(records.every(({ timestamp }, index) => timestamp >= snapshots[index].window_end)).toBe(true)
  driver.advanceWallClock(30 * SECOND)
  const renewals = driver.read(trendRenewals).map(({ value }) => value as TrendOutput)
  const last = renewals.filter(({ woeid }) => woeid === NEW_YORK).at(-1)!
  expect(last.window_end % MINUTE).toBe(30 * SECOND)
  expect(volumesOf(last.entries)).toEqual({ 'second minute': 1 })
})

test('velocity is relative to the window of one hour ago', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let i = 0; i < 2; i++) send(driver, { hashtags: ['again'] })
  leap(driver, HOUR)
  for (let i = 0; i < 6; i++) send(driver, { hashtags: ['again'] })
  leap(driver, 50 * MINUTE)
  expect(entriesOf(driver, WORLD)).toMatchObject([{ term: 'again', tweet_volume: 6, velocity: 3, volume_24h: 8 }])
})

test('terms without a baseline are measured against the mean of such terms in their region a minute earlier', () => {
  const driver = testDriver(trends, { startAt: START })
  for (let i = 0; i < 9; i++) send(driver, { hashtags: ['big'], woeid: WORLD })
  for (const small of ['s1', 's2']) send(driver, { hashtags: [small], woeid: WORLD })
  for (let i = 0; i < 4; i++) send(driver, { hashtags: ['other'], woeid: NEW_YORK })
  driver.advanceWallClock(3 * MINUTE)
  const mean = (9 + 4 + 1 + 1) / 4
  const found = newestLists(driver)
  expect(found.get(NEW_YORK)?.entries).toMatchObject([{ term: 'other', velocity_vs_usual: 1 }])
  const [big, , small] = found.get(WORLD)!.entries
  expect(big).toMatchObject({ term: 'big', velocity_vs_usual: 9 / mean, score: 9 * Math.log2(1 + 9 / mean), label: null })
  expect(small).toMatchObject({ term: 's1', velocity_vs_usual: 1 / mean })
})

test(
  'after a week, the usual count of the current hour determines velocity and label',
  () => {
    const driver = testDriver(trends, { startAt: START, commit: 'manual' })
    for (let i = 0; i < 4; i++) send(driver, { hashtags: ['monday'] })
    send(driver, { hashtags: ['rare'] })
    leap(driver, MINUTE)
    leap(driver, WEEK - MINUTE)
    for (let i = 0; i < 8; i++) send(driver, { hashtags: ['monday'] })
    for (let i = 0; i < 20; i++) send(driver, { hashtags: ['rare'] })
    for (let i = 0; i < 19; i++) send(driver, { hashtags: ['new'] })
    // At the end of an hour, only the usual count of that hour applies.
    leap(driver, HOUR)
    const entries = entriesOf(driver, NEW_YORK)
    expect(entries.map(({ term, velocity_vs_usual, label }) => ({ term, velocity_vs_usual, label }))).toEqual([
      { term: 'rare', velocity_vs_usual: 20, label: 'Viral' },
      { term: 'new', velocity_vs_usual: 19, label: null },
      { term: 'monday', velocity_vs_usual: 2, label: null },
    ])
  },
  WEEK_TIMEOUT_MS,
)

test(
  'after a stop of four hours, each hour of a baseline includes the counts of all partitions, no matter which partition is read first',
  () => {
    const driver = testDriver(trends, { startAt: START, commit: 'manual' })
    send(driver, { hashtags: ['usual'], woeid: WORLD })
    leap(driver, 2 * MINUTE)
    // Nothing is processed until the driver settles.
    for (const minutes of [90, 230]) {
      driver.advanceWallClock(START + minutes * MINUTE - driver.now)
      for (let i = 0; i < 20; i++) send(driver, { hashtags: ['usual'], woeid: WORLD })
    }
    for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
    leap(driver, START + WEEK + 100 * MINUTE - driver.now)
    for (let i = 0; i < 40; i++) send(driver, { hashtags: ['usual'], woeid: WORLD })
    leap(driver, 20 * MINUTE)
    expect(entriesOf(driver, WORLD)).toMatchObject([{ term: 'usual', tweet_volume: 40, velocity_vs_usual: 2 }])
  },
  WEEK_TIMEOUT_MS,
)

test('the trend of a term begins when the term enters the top 30, and continues across gaps of up to ten minutes', () => {
  const driver = testDriver(trends, { startAt: START })
  send(driver, { hashtags: ['first'], created_at: START - 55 * MINUTE })
  driver.advanceWallClock(MINUTE)
  const [first] = entriesOf(driver, WORLD)
  // The first contribution leaves the window after five minutes, and the second one follows less than ten minutes
  // later. The third one follows more than ten minutes after the second one has left the window.
  driver.advanceWallClock(12 * MINUTE)
  expect(entriesOf(driver, WORLD)).toEqual([])
  send(driver, { hashtags: ['first'], created_at: driver.now - 58 * MINUTE })
  driver.advanceWallClock(MINUTE)
  expect(entriesOf(driver, WORLD)[0].trending_since).toBe(first.trending_since)
  driver.advanceWallClock(15 * MINUTE)
  send(driver, { hashtags: ['first'] })
  driver.advanceWallClock(MINUTE)
  expect(entriesOf(driver, WORLD)[0].trending_since).toBeGreaterThan(first.trending_since + 20 * MINUTE)
})

test('a list has the best 500 terms in a common order, regardless of their partitions', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let term = 0; term < 800; term++) {
    const times = 1 + (term % 7)
    for (let i = 0; i < times; i++) send(driver, { hashtags: [`t${term}`], woeid: WORLD })
  }
  driver.settle()
  driver.advanceWallClock(MINUTE)
  driver.settle()
  const terms = Array.from({ length: 800 }, (_, term) => ({ term: `t${term}`, count: 1 + (term % 7) }))
  terms.sort((a, b) => b.count - a.count || (a.term < b.term ? -1 : 1))
  const entries = entriesOf(driver, WORLD)
  expect(entries.map(({ term }) => term)).toEqual(terms.slice(0, 500).map(({ term }) => term))
  expect(driver.metrics.counts.get('trends_lists_with_uncertain_tail') ?? 0).toBe(0)
})

test('a list from which a partition had to leave out terms has the true best terms at its top, and is counted as uncertain', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const names = Array.from({ length: 2_000 }, (_, i) => `t${i}`).filter((term) => partitionFor(Buffer.from(term), 4) === 0)
  const listed = names.slice(0, 400)
  for (const [i, term] of listed.entries())
    for (let times = i < 40 ? 2 : 1; times > 0; times--) send(driver, { hashtags: [term], woeid: WORLD })
  leap(driver, MINUTE)
  const entries = entriesOf(driver, WORLD)
  expect(entries.length).toBeLessThan(listed.length)
  expect(entries.slice(0, 40).map(({ term }) => term)).toEqual(listed.slice(0, 40).sort())
  expect(driver.metrics.counts.get('trends_lists_with_uncertain_tail')).toBeGreaterThan(0)
})

test.each([
  { terms: 1, places: 2 },
  { terms: 7, places: 3 },
])(
  'with $terms partitions of terms and $places partitions of regions, lists are the same as with four partitions of each',
  ({ terms, places }) => {
    const other = testDriver(trends, {
      startAt: START,
      partitions: {
        'trends-drawn-cells-repartition': terms,
        'trends-listed-repartition': terms,
        'trends-reports-repartition': places,
        [trendOutput.name]: 5,
      },
    })
    const usual = testDriver(trends, { startAt: START })
    for (const driver of [other, usual]) {
      restartIds()
      for (let i = 0; i < 30; i++) send(driver, { phrases: Array.from({ length: 20 + i }, (_, n) => `t${n}`) })
      driver.advanceWallClock(MINUTE)
    }
    const lists = newestLists(other)
    expect(lists.size).toBe(551)
    expect(lists).toEqual(newestLists(usual))
    expect(other.metrics.counts.get('trends_lists_with_uncertain_tail')).toBeUndefined()
  },
)

test('a term that becomes frequent keeps all counts, in its lists and in the history, even if the state is lost', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (const count of [5, 20, 30]) {
    for (let i = 0; i < count; i++) send(driver, { hashtags: ['grows'], woeid: i % 2 === 0 ? NEW_YORK : 44418 })
    driver.settle()
  }
  driver.restart({ wipeState: true })
  for (let i = 0; i < 4; i++) send(driver, { hashtags: ['grows'] })
  leap(driver, MINUTE)
  const found = newestLists(driver)
  expect([WORLD, UNITED_STATES, NEW_YORK, 44418].map((woeid) => volumesOf(found.get(woeid)!.entries))).toEqual([
    { grows: 59 },
    { grows: 32 },
    { grows: 32 },
    { grows: 27 },
  ])
  leap(driver, MINUTE)
  const greatest = new Map<number, number>()
  for (const { woeid, volume } of publishedVolumes(driver)) greatest.set(woeid, Math.max(volume, greatest.get(woeid) ?? 0))
  expect([WORLD, UNITED_STATES, NEW_YORK, 44418].map((woeid) => greatest.get(woeid))).toEqual([59, 32, 32, 27])
})

test('when a partition of the tweets is stuck, lists are incomplete but not stale, and no trend begins until they are complete', () => {
  const driver = testDriver(trends, { startAt: START })
  const users = Array.from({ length: 40 }, (_, i) => BigInt(i))
  const stuckUsers = users.filter((user) => partitionFor(Buffer.from(String(user)), 4) === 1)
  for (const user_id of users) send(driver, { user_id, hashtags: ['all'] })
  for (const user_id of stuckUsers) send(driver, { user_id, hashtags: ['stuck'] })
  driver.advanceWallClock(MINUTE)
  const before = newestLists(driver).get(WORLD)!
  expect(before).toMatchObject({ missing_partitions: 0, entries: [{ term: 'all', tweet_volume: 40 }, { term: 'stuck' }] })
  block(driver, tweets.name, 1)
  for (const user_id of users) if (!stuckUsers.includes(user_id)) send(driver, { user_id, hashtags: ['new'] })
  driver.advanceWallClock(3 * MINUTE)
  const during = newestLists(driver)
  expect(during.size).toBe(551)
  expect([...during.values()].every(({ missing_partitions }) => missing_partitions === 1)).toBe(true)
  const list = during.get(WORLD)!
  expect(list.window_end).toBeGreaterThanOrEqual(driver.now - 2 * MINUTE)
  expect(volumesOf(list.entries)).toEqual({ all: 40, new: 40 - stuckUsers.length, stuck: stuckUsers.length })
  expect(list.entries.find(({ term }) => term === 'all')?.trending_since).toBe(before.entries[0].trending_since)
  expect(list.entries.find(({ term }) => term === 'new')?.trending_since).toBe(list.window_end)
  driver.restart()
  driver.advanceWallClock(MINUTE)
  const after = newestLists(driver).get(WORLD)!
  expect(after.missing_partitions).toBe(0)
  // The new term has been trending since the first complete list.
  expect(after.entries.find(({ term }) => term === 'new')?.trending_since).toBeGreaterThan(list.window_end)
})

test('usual counts include hours that are not final because a partition of the tweets is stuck', () => {
  const users = Array.from({ length: 40 }, (_, i) => BigInt(i)).filter((user) => partitionFor(Buffer.from(String(user)), 4) !== 1)
  function listAfterHours(isStuck: boolean): TrendOutput {
    restartIds()
    const driver = testDriver(trends, { startAt: START, commit: 'manual' })
    for (const user_id of users) send(driver, { user_id, hashtags: ['steady'] })
    leap(driver, MINUTE)
    if (isStuck) block(driver, tweets.name, 1)
    for (let hour = 0; hour < 4; hour++) {
      for (const user_id of users) send(driver, { user_id, hashtags: ['steady'] })
      leap(driver, 55 * MINUTE)
    }
    // While a partition is stuck, a list is published a minute after the other partitions are ready.
    for (let half = 0; half < 6; half++) leap(driver, 30 * SECOND)
    return newestLists(driver).get(WORLD)!
  }
  const [complete, stuck] = [listAfterHours(false), listAfterHours(true)]
  expect([complete.missing_partitions, stuck.missing_partitions]).toEqual([0, 1])
  expect(complete.entries).toMatchObject([{ term: 'steady', label: null }])
  expect(stuck.entries).toEqual(complete.entries)
})

test('when a partition of the terms is stuck, all lists are published without its terms', () => {
  const driver = testDriver(trends, { startAt: START })
  for (let i = 0; i < 40; i++) send(driver, { hashtags: [`t${i}`] })
  driver.advanceWallClock(MINUTE)
  expect(entriesOf(driver, WORLD)).toHaveLength(40)
  block(driver, 'trends-drawn-cells-repartition', 2)
  driver.advanceWallClock(3 * MINUTE)
  const lists = newestLists(driver)
  expect(lists.size).toBe(551)
  expect(
    [...lists.values()].every(({ missing_partitions, window_end }) => missing_partitions === 1 && window_end > driver.now - 2 * MINUTE),
  ).toBe(true)
  const owned = (term: string) => partitionFor(Buffer.from(term), 4) !== 2
  const expected = Array.from({ length: 40 }, (_, i) => `t${i}`).filter(owned)
  expect(Object.keys(volumesOf(lists.get(WORLD)!.entries)).sort()).toEqual(expected.sort())
})

test('if a partition of the tweets and a partition of the terms are stuck, every list says that two partitions are missing', () => {
  const driver = testDriver(trends, { startAt: START })
  for (let i = 0; i < 40; i++) send(driver, { hashtags: [`t${i}`] })
  driver.advanceWallClock(MINUTE)
  expect(newestLists(driver).size).toBe(551)
  block(driver, tweets.name, 1)
  block(driver, 'trends-drawn-cells-repartition', 2)
  driver.advanceWallClock(4 * MINUTE)
  const lists = newestLists(driver)
  expect(lists.size).toBe(551)
  expect(new Set([...lists.values()].map(({ missing_partitions }) => missing_partitions))).toEqual(new Set([2]))
})

test('contributions to a frequent term that arrive together with a time marker are in the list of that time', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const contribute = (tweets: number) => {
    for (let i = 0; i < tweets; i++) send(driver, { hashtags: ['#sandy'] })
  }
  contribute(40)
  driver.settle()
  contribute(40)
  // Only one time marker is due in this period. With a second marker, the newest list would be right in any case.
  driver.advanceWallClock(25 * SECOND)
  driver.settle()
  expect(volumesOf(entriesOf(driver, WORLD))).toEqual({ sandy: 80 })
})

test('contributions to minutes that have left the state of a frequent term are in the history', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const minute = START - (START % MINUTE)
  for (let i = 0; i < 40; i++) send(driver, { hashtags: ['outage'] })
  driver.settle()
  // After a stop, partition 3 of the tweets is read later than partition 0, although the tweets in partition 0 are
  // three hours newer.
  for (let i = 0; i < 5; i++) send(driver, { user_id: userIn(3, 1_000 * i), hashtags: ['outage'] })
  driver.advanceWallClock(3 * HOUR)
  send(driver, { user_id: userIn(0, 1), hashtags: ['outage'] })
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  const history = historyOf(driver).filter(({ woeid }) => woeid === NEW_YORK)
  expect(history.map((volume) => [(volume.minute - minute) / MINUTE, volume.volume]).sort()).toEqual([
    [0, 45],
    [180, 1],
  ])
})

test('the history includes all late contributions to a minute that a frequent term no longer keeps in its state, even if they arrive at different times', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const minute = START - (START % MINUTE)
  for (let i = 0; i < 40; i++) send(driver, { hashtags: ['outage'] })
  driver.settle()
  for (const partition of [2, 3]) block(driver, tweets.name, partition)
  for (let i = 0; i < 5; i++) send(driver, { user_id: userIn(2, 1_000 * i), hashtags: ['outage'] })
  for (let i = 0; i < 4; i++) send(driver, { user_id: userIn(3, 1_000 * i), hashtags: ['outage'] })
  driver.advanceWallClock(3 * HOUR)
  send(driver, { user_id: userIn(0, 1), hashtags: ['outage'] })
  driver.settle()
  driver.restart()
  block(driver, tweets.name, 3)
  driver.settle()
  driver.restart()
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  const history = historyOf(driver).filter(({ woeid }) => woeid === NEW_YORK)
  expect(history.map((volume) => [(volume.minute - minute) / MINUTE, volume.volume]).sort()).toEqual([
    [0, 49],
    [180, 1],
  ])
})

test('the history includes late contributions to minutes that a frequent term no longer keeps in its state, even if the term is listed before these contributions are counted', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const minute = START - (START % MINUTE)
  const owner = partitionFor(Buffer.from('outage'), 4)
  for (let i = 0; i < 40; i++) send(driver, { hashtags: ['outage'] })
  driver.settle()
  // While two partitions of the tweets are stuck, no time is closed, so the contributions are not counted for a report.
  for (const partition of [2, 3]) block(driver, tweets.name, partition)
  for (let i = 0; i < 5; i++) send(driver, { user_id: userIn(3, 1_000 * i), hashtags: ['outage'] })
  driver.advanceWallClock(3 * HOUR)
  send(driver, { user_id: userIn(0, 1), hashtags: ['outage'] })
  driver.settle()
  driver.restart()
  block(driver, tweets.name, 2)
  // The contributions, and the record that lists the term, wait for the task that counts the term.
  block(driver, 'trends-drawn-cells-repartition', owner)
  driver.settle()
  const listed = { name: 'trends-listed-repartition', key: utf8, value: avro('trends/TermTracked'), partitions: 4 }
  driver.pipe(listed, 'outage', { woeid: NEW_YORK, window_end: driver.now }, { timestamp: driver.now + 1 })
  driver.restart()
  block(driver, tweets.name, 2)
  driver.settle()
  driver.restart()
  for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  const history = historyOf(driver).filter(({ woeid }) => woeid === NEW_YORK)
  expect(history.map((volume) => [(volume.minute - minute) / MINUTE, volume.volume]).sort()).toEqual([
    [0, 45],
    [180, 1],
  ])
})

test('users and counts without recent contributions are forgotten, but the baselines of listed terms remain', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  const stored = (name: string): number => {
    const stores = [0, 1, 2, 3].map((partition) => driver.store<KeyedStore<string, unknown>>(name, partition))
    return stores.reduce((sum, store) => sum + [...store.scan()].length, 0)
  }
  const counts = () => [stored('user-terms'), stored('rare-tweets'), stored('frequent-states'), stored('usual')]
  send(driver, { user_id: 5n, hashtags: ['gone'] })
  for (let i = 0; i < 33; i++) send(driver, { user_id: BigInt(100 + i), hashtags: ['outage'] })
  leap(driver, MINUTE)
  // A rare term that was listed has no state and no baseline in its regions.
  expect(counts()).toEqual([34, 2, 3, 3])
  driver.advanceWallClock(3 * HOUR)
  for (let user_id = 6n; user_id < 40n; user_id++) send(driver, { user_id })
  leap(driver, MINUTE)
  leap(driver, MINUTE)
  expect(counts()).toEqual([0, 2, 3, 3])
  leap(driver, 26 * HOUR)
  // The baselines of both terms and a note for each term remain, because the terms were listed.
  expect(counts()).toEqual([0, 2, 0, 6])
})
