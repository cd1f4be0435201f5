import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partitionFor } from '../../kafka/partitioner.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { foldTerm } from '../../schemas/trends/term.ts'
import { tweets } from '../../schemas/trends/topics.ts'
import { GENERATED_EVENTS, writeGeneratedRecording } from '../pipelines/trends/generated-recording.ts'
import { byRegionAndTerm, type Contribution, countedContributions, drawnTweets, topicsOf } from '../pipelines/trends/offline.ts'
import { publicData } from '../public-data.ts'
import { guardedFolder } from '../stack/folder.ts'
import { pythonEnvironment, runPython } from '../stack/python.ts'
import { type Expected, expectedLists, type KnownTweet } from './expected.ts'
import { logReader, type PublishedList } from './log.ts'
import { type System, startSystem } from './system.ts'
import { get, type ListBody, listOf, tokenFor } from './trends-api.ts'

const run = promisify(execFile)
const REPLAY = fileURLToPath(new URL('../../tools/replay/main.ts', import.meta.url))
const DLQ = fileURLToPath(new URL('../../tools/dlq/main.ts', import.meta.url))
const PRODUCER = join(import.meta.dirname, 'produce_tweets.py')

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const MAX_AHEAD_MS = 5 * MINUTE_MS
/** How long to wait for a new list: two list renewals and a margin for a busy machine. */
const LISTED = { timeout: 120_000, interval: 200 }
const SOON = { timeout: 30_000, interval: 100 }
/**
 * How long to wait for the rows of snapshots in ClickHouse, and how often to check. Each check reads all of these rows,
 * so checks are rare.
 */
const TABLE = { timeout: 30_000, interval: 2_000 }
/** How long to wait for a snapshot: a minute and a margin for a busy machine. Each check starts a Python process. */
const SNAPSHOT = { timeout: 120_000, interval: 2_000 }
const SERVED = 30
const WORLD = 1
const TOKYO = 1118370
const JAPAN = 23424856
/**
 * How far in the future the window of a posted list ends. Until then, lists from the pipeline do not replace the posted
 * list.
 */
const POSTED_AHEAD_MS = 15 * SECOND_MS
/** A city without tweets. */
const SILENT_CITY = regions.find(({ name, type }) => type === 'Town' && name === 'Ankara')!.woeid
/** The terms of the six events in the public recording. */
const REAL_EVENTS = ['hurricane sandy', 'boston marathon', 'fertilizer plant', 'oklahoma tornado', 'queensland flood', 'yycflood']

const GENERATED_TWEETS = 3_000

/** The public recording if it is available; otherwise a smaller generated recording, to which the same checks apply. */
const recording = replayedRecording()

function replayedRecording(): { file: string; tweets: number; events: readonly string[] } {
  const real = publicData('tweets')
  if (real !== undefined) return { file: real, tweets: 60_000, events: REAL_EVENTS }
  const file = join(guardedFolder().path, 'recording.csv.gz')
  writeGeneratedRecording(file, GENERATED_TWEETS)
  return { file, tweets: GENERATED_TWEETS, events: GENERATED_EVENTS }
}

let system: System
let sentBy: number
let log: KnownTweet[]
let expected: Expected
let counted: readonly Contribution[]
/** The counted contributions of tweets, by region and term. */
let byTerm: ReadonlyMap<number, ReadonlyMap<string, readonly Contribution[]>>
let produced: { schema: number; partitions: Record<string, number> }
/**
 * A tweet whose timestamp is too far in the future when it is sent, but acceptable soon afterwards. No tweet in the
 * public recording has the same hashtag.
 */
let early: { tag: string; createdAt: number }

const pythonTweet = (sequence: number, user: number, hashtag: string, createdAt: number) => ({
  // Exceeds 2^53.
  tweet_id: `12345678901234${String(50_000 + sequence)}`,
  user_id: user,
  text: 'from Python',
  hashtags: [hashtag],
  phrases: [],
  lang: 'ja',
  woeid: TOKYO,
  bot_score: 0,
  created_at: createdAt,
})

beforeAll(async () => {
  // Installs the Python environment before the tweet gets its timestamp. If the installation came later, the timestamp
  // might no longer be too far in the future when the tweet is sent.
  await pythonEnvironment('confluent')
  system = await startSystem({ workers: 2, apis: 2 })
  const now = Date.now()
  early = { tag: '#DatedAhead', createdAt: now + MAX_AHEAD_MS + 20 * SECOND_MS }
  const fromPython = Array.from({ length: 20 }, (_, i) => pythonTweet(i, 7_000_000 + i, i % 2 === 0 ? '#FromPython' : '#frompython', now))
  // Of five tweets by one user, only three count.
  for (let i = 0; i < 5; i++) fromPython.push(pythonTweet(100 + i, 7_100_000, '#FromPython', now))
  fromPython.push(pythonTweet(200, 7_200_000, early.tag, early.createdAt))
  const request = {
    brokers: system.kafka.address,
    registry: system.registry.address,
    tweets: fromPython,
    raw: [{ key: '4711', value: 'no tweet' }],
  }
  const [answer] = await Promise.all([
    runPython(PRODUCER, { input: JSON.stringify(request).replaceAll(/"tweet_id":"(\d+)"/g, '"tweet_id":$1') }),
    run(process.execPath, [REPLAY, recording.file, '--at-once', '50m'], { env: { ...process.env, ...system.env } }),
  ])
  produced = JSON.parse(answer)
  sentBy = Date.now()
  log = (await logReader(system).tweets()).map(({ tweet, timestamp }) => ({ tweet, sentAt: timestamp, acknowledgedAt: timestamp }))
  counted = countedContributions(log)
  expected = expectedLists(log, counted)
  byTerm = byRegionAndTerm(counted)
})

afterAll(async () => {
  await system?.finish()
})

/** Waits until the lists of all regions include all tweets that were sent, and returns the lists by region. */
async function fullLists(api = system.apis[0]): Promise<Map<number, ListBody>> {
  const lists = new Map<number, ListBody>()
  for (const { woeid } of regions) {
    await expect
      .poll(async () => {
        const list = await listOf(api, woeid)
        lists.set(woeid, list)
        return Date.parse(list.as_of)
      }, LISTED)
      .toBeGreaterThanOrEqual(sentBy)
  }
  return lists
}

interface Counted {
  readonly term: string
  readonly tweet_volume: number
  /** In alphabetical order. */
  readonly variants: readonly string[]
}

function trueTop(woeid: number, windowEnd: number): Counted[] {
  const counts = [...expected.bounds(woeid, windowEnd)].map(([term, { most }]) => ({ term, tweet_volume: most }))
  counts.sort((a, b) => b.tweet_volume - a.tweet_volume || (a.term < b.term ? -1 : 1))
  const terms = byTerm.get(woeid)
  const topics = topicsOf(counts, (term) => drawnTweets(terms?.get(term) ?? [], windowEnd))
  return topics.slice(0, SERVED).map(({ entry, variants }) => ({ ...entry, variants: variants.map(({ term }) => term).sort() }))
}

const countsOf = (list: ListBody): Counted[] =>
  list.trends.map(({ term, tweet_volume, variants }) => ({
    term,
    tweet_volume,
    variants: variants.map((name) => foldTerm(name) ?? '').sort(),
  }))

test('the list of every region equals the top 30 of an offline computation, with the same counts', async () => {
  const lists = await fullLists()
  let withTrends = 0
  for (const [woeid, list] of lists) {
    expect(countsOf(list), `region ${woeid}`).toEqual(trueTop(woeid, Date.parse(list.as_of)))
    // All tweets are within the window. The window one hour earlier is therefore empty, so `velocity` divides by 1.
    for (const trend of list.trends) expect(trend).toMatchObject({ volume_24h: trend.tweet_volume, velocity: trend.tweet_volume })
    if (list.trends.length > 0) withTrends++
  }
  expect(withTrends).toBe(expected.woeids.length)
})

test('when a recording is replayed, the terms of its events are in the worldwide list', async () => {
  const terms = countsOf(await listOf(system.apis[0], WORLD)).flatMap(({ term, variants }) => [term, ...variants])
  for (const term of recording.events) expect(terms).toContain(term)
  expect(log.length).toBeGreaterThan(recording.tweets)
})

test('tweets from a Python producer are counted, and go to the same partitions as tweets from our producer', async () => {
  const tokyo = await listOf(system.apis[0], TOKYO)
  expect(tokyo.trends[0]).toMatchObject({ term: 'frompython', name: '#FromPython', tweet_volume: 23 })
  expect((await listOf(system.apis[0], JAPAN)).trends[0]).toMatchObject({ term: 'frompython', tweet_volume: 23 })
  for (const [key, partition] of Object.entries(produced.partitions))
    expect(partition).toBe(partitionFor(Buffer.from(key), tweets.partitions))
  expect(Object.keys(produced.partitions)).toHaveLength(23)
})

test('two API processes serve the same bytes with the same ETag', async () => {
  for (const { woeid } of regions) {
    await expect
      .poll(async () => {
        const [one, other] = await Promise.all(system.apis.map((api) => get(api, `/v1/trends?woeid=${woeid}`)))
        if (JSON.parse(one.text).as_of !== JSON.parse(other.text).as_of) return 'of two windows'
        expect(other.text).toBe(one.text)
        expect(other.headers.get('etag')).toBe(one.headers.get('etag'))
        return one.status
      }, SOON)
      .toBe(200)
  }
})

test('interests that are written through one process change the order of the lists of the other process', async () => {
  const [one, other] = system.apis
  const headers = { ...(await tokenFor(system, '--sub', '9007199254740993')), 'content-type': 'application/json' }
  const { trends } = await listOf(one, WORLD)
  // The test does not use the last terms, because they may have left the list by the time the other process has read
  // the interests.
  const [loved, muted] = [trends[Math.min(2, trends.length - 1)], trends[0]]
  // At least two terms are needed, because reranking a single term has no visible effect.
  expect(loved.term).not.toBe(muted.term)
  const body = JSON.stringify({ topic_weights: { [loved.name]: 1_000 }, exclude_topics: [muted.name] })
  expect((await fetch(`${one.address}/v1/me/interests`, { method: 'PUT', headers, body })).ok).toBe(true)
  const personal = async () => (await listOf(other, WORLD, '&personalized=true', headers)).trends.map(({ term }) => term)
  await expect.poll(async () => (await personal())[0], SOON).toBe(loved.term)
  expect(await personal()).not.toContain(muted.term)
  expect((await listOf(other, WORLD, '&personalized=true')).personalized).toBe(false)
})

test('every process serves a posted list', async () => {
  const headers = { ...(await tokenFor(system, '--sub', 'pipeline', '--scope', 'internal')), 'content-type': 'application/json' }
  const windowEnd = new Date(Math.floor((Date.now() + POSTED_AHEAD_MS) / SECOND_MS) * SECOND_MS).toISOString()
  const top_k = [{ term: '#Posted', count: 5, velocity: 1, sample_ids: ['1'] }]
  const body = JSON.stringify({ woeid: SILENT_CITY, window_end: windowEnd, top_k })
  expect((await fetch(`${system.apis[0].address}/v1/internal/trends/refresh`, { method: 'POST', headers, body })).status).toBe(204)
  for (const api of system.apis) {
    await expect
      .poll(async () => countsOf(await listOf(api, SILENT_CITY)), SOON)
      .toEqual([{ term: 'posted', tweet_volume: 5, variants: [] }])
  }
})

describe('history', () => {
  test('the history of a term contains the offline count of every minute, for a city, a country and the world', async () => {
    const [api] = system.apis
    const events = recording.events.map((term) => ({ woeid: WORLD, term }))
    for (const { woeid, term } of [...[TOKYO, JAPAN, WORLD].map((each) => ({ woeid: each, term: 'frompython' })), ...events]) {
      const perMinute = new Map<string, number>()
      for (const contribution of counted) {
        if (contribution.term !== term || !contribution.woeids.includes(woeid)) continue
        const ts = new Date(contribution.minute * MINUTE_MS).toISOString()
        perMinute.set(ts, (perMinute.get(ts) ?? 0) + 1)
      }
      expect(perMinute.size).toBeGreaterThan(0)
      await expect
        .poll(async () => {
          const { text } = await get(api, `/v1/trends/${encodeURIComponent(term)}/history?woeid=${woeid}&hours=2&resolution=1m`)
          const points = JSON.parse(text).data_points as { ts: string; volume: number }[]
          return new Map(points.filter(({ volume }) => volume > 0).map(({ ts, volume }) => [ts, volume]))
        }, LISTED)
        .toEqual(perMinute)
    }
  })

  test('ClickHouse contains exactly the published snapshots of whole minutes', async () => {
    const client = createClient({ url: system.clickhouse.address })
    const reader = logReader(system)
    const snapshots: PublishedList[] = []
    // Incomplete windows are ignored, because the lists of the newest window may still be arriving.
    const complete = () =>
      [...Map.groupBy(snapshots, ({ window_end }) => window_end)].filter(([, lists]) => lists.length === regions.length)
    await expect
      .poll(async () => {
        snapshots.push(...(await reader.lists()).filter(({ window_end }) => window_end % MINUTE_MS === 0))
        return Math.max(0, ...complete().map(([windowEnd]) => windowEnd))
      }, SNAPSHOT)
      .toBeGreaterThanOrEqual(sentBy)
    const published = complete().flatMap(([, lists]) => lists)
    const rows = published.flatMap(({ woeid, window_end, entries }) =>
      entries
        .slice(0, 100)
        .map(({ term, tweet_volume }, index) => [woeid, window_end / SECOND_MS, index + 1, term, String(tweet_volume)].join(' ')),
    )
    const windows = [...new Set(published.map(({ window_end }) => window_end / SECOND_MS))]
    await expect
      .poll(async () => {
        const result = await client.query({
          query:
            "SELECT woeid, toUnixTimestamp(window_end), rank, term, toString(tweet_volume) FROM trend_snapshots WHERE window_end IN {windows:Array(UInt32)} AND term != ''",
          query_params: { windows },
          format: 'JSONCompactEachRow',
        })
        return new Set((await result.json<unknown[]>()).map((row) => row.join(' '))).symmetricDifference(new Set(rows)).size
      }, TABLE)
      .toBe(0)
    await client.close()
  })
})

test('dead letters can be listed, shown and replayed', async () => {
  const dlq = async (...args: string[]) => (await run(process.execPath, [DLQ, ...args], { env: { ...process.env, ...system.env } })).stdout
  const listed = await dlq('list')
  expect(listed).toMatch(/trends/)
  expect(listed).toMatch(/undecodable_value/)
  expect(listed).toMatch(/created_in_the_future/)
  const shown = await dlq('show', 'trends')
  expect(shown).toContain('no tweet')
  expect(shown).toContain('4711')
  expect(shown).toContain('#DatedAhead')

  // Waits until the timestamp of the replayed tweet is acceptable. The record that is not a tweet becomes a dead letter
  // again.
  await expect.poll(() => Date.now(), LISTED).toBeGreaterThan(early.createdAt - MAX_AHEAD_MS)
  expect(await dlq('replay', 'trends', '--all')).toContain('replayed 2')
  await expect.poll(() => dlq('show', 'trends', '--code', 'undecodable_value'), SOON).toMatch(/replays/)
  expect(await dlq('replay', 'trends', '--all')).toContain('skipped 1 dead letters of records that failed again after a replay')
  const client = createClient({ url: system.clickhouse.address })
  await expect
    .poll(async () => {
      const result = await client.query({
        // Reads both tables, because a term can be in either. This term has only one contribution, so it is in the
        // table of rare volumes.
        query: `SELECT max(volume) AS volume FROM (
          SELECT woeid, term, minute, '' AS adds_as, volume FROM trend_volumes
          UNION ALL
          SELECT woeid, term, minute, adds_as, toUInt64(volume) FROM trend_rare_volumes ARRAY JOIN woeids AS woeid, volumes AS volume
        ) WHERE term = 'datedahead' AND woeid = 1 GROUP BY minute`,
        format: 'JSONEachRow',
      })
      return (await result.json<{ volume: string }>()).map(({ volume }) => Number(volume))
    }, LISTED)
    .toEqual([1])
  await client.close()
})

test("the pipeline's next list replaces the posted list", async () => {
  await expect.poll(async () => countsOf(await listOf(system.apis[1], SILENT_CITY)), LISTED).toEqual([])
})
