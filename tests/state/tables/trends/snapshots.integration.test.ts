import { expect, test } from 'vitest'
import { listBytesOf } from '../../../../schemas/trends/trend-list-bytes.ts'
import type { TrendOutput } from '../../../../schemas/trends/types.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { RowBinary } from '../../../../state/tables/row-binary.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { readSnapshot, trendSnapshots } from '../../../../state/tables/trends/trend-snapshots.ts'
import { entry } from '../../views/entries.ts'
import { testDatabase } from '../database.ts'

const ALONE = { cluster: undefined }
const MINUTE_S = 60
const SECOND_MS = 1_000
/** The beginning of the current minute, epoch seconds. The time must be recent, because rows expire after 90 days. */
const AT = Math.floor(Date.now() / SECOND_MS / MINUTE_S) * MINUTE_S

async function world() {
  const { client } = await testDatabase()
  const store = tableStore(trendSnapshots, client, ALONE)
  await store.prepare()
  let offset = 0
  const put = (list: Partial<TrendOutput>) => {
    const whole: TrendOutput = { woeid: 1, window_end: AT * SECOND_MS, source: 'pipeline', missing_partitions: 0, entries: [], ...list }
    const rows = new RowBinary({ topic: 'trend-output', partition: 0 })
    trendSnapshots.writeRows(whole.woeid, listBytesOf(whole), offset++, rows)
    return store.insertBinary(rows)
  }
  const read = (from: number, to: number, woeid = 1) => readSnapshot(client as unknown as TableReader, { woeid, from, to })
  return { client, put, read }
}

test('the newest snapshot within the bounds is returned as it was written', async () => {
  const { put, read } = await world()
  const written = entry('café', {
    name: '#Café',
    label: 'Viral',
    volume_24h: 77,
    velocity_vs_usual: 2.5,
    trending_since: AT * SECOND_MS - 1,
    users: 5,
    variants: ['#Coffee', 'a cup'],
  })
  await put({ entries: [written, entry('b'), entry('a')] })
  await put({ window_end: (AT - MINUTE_S) * SECOND_MS, entries: [entry('older')] })
  await put({ woeid: 44418, window_end: (AT + MINUTE_S) * SECOND_MS, entries: [entry('elsewhere')] })
  const found = await read(AT - 180, AT + 179)
  expect(found).toMatchObject({ windowEnd: AT * SECOND_MS })
  expect(found!.entries.map(({ term }) => term)).toEqual(['café', 'b', 'a'])
  const { tweet_volume, velocity } = written
  expect(found!.entries[0]).toEqual({
    term: 'café',
    name: '#Café',
    tweet_volume,
    velocity,
    label: 'Viral',
    sample_tweets: written.sample_tweets.map(String),
    volume_24h: 77,
    velocity_vs_usual: 2.5,
    trending_since: AT * SECOND_MS - 1,
    users: 5,
    variants: ['#Coffee', 'a cup'],
  })
  expect((await read(AT - 180, AT - 1))!.entries.map(({ term }) => term)).toEqual(['older'])
  expect(await read(AT + 1, AT + 181)).toBeUndefined()
  expect(await read(AT, AT)).toBeDefined()
  expect(await read(AT - 180, AT, 2459115)).toBeUndefined()
})

test('an empty list hides the previous list', async () => {
  const { put, read } = await world()
  await put({ window_end: (AT - MINUTE_S) * SECOND_MS, entries: [entry('older')] })
  await put({})
  expect(await read(AT - 180, AT)).toEqual({ windowEnd: AT * SECOND_MS, entries: [] })
})

test('a posted list takes precedence over a longer one of the same window', async () => {
  const { put, read } = await world()
  await put({ source: 'endpoint', entries: [entry('posted')] })
  await put({ entries: [entry('a'), entry('b')] })
  expect((await read(AT, AT))!.entries.map(({ term }) => term)).toEqual(['posted'])
})

test('a table from an earlier version gets the new columns, and its existing rows have no values in them', async () => {
  const added = ['volume_24h', 'velocity_vs_usual', 'score', 'trending_since', 'users', 'variants']
  const isAdded = (text: string) => added.some((name) => text.startsWith(name))
  const columns = trendSnapshots.columns.filter((column) => !isAdded(column))
  const { client } = await testDatabase()
  await tableStore({ ...trendSnapshots, columns, migrations: [] }, client, ALONE).prepare()
  const row = {
    woeid: 1,
    window_end: AT,
    rank: 1,
    term: 'old',
    name: 'Old',
    tweet_volume: 3,
    velocity: 1.5,
    label: '',
    sample_ids: [7],
    version: 0,
  }
  const place = { kafka_topic: 'trend-output', kafka_partition: 0, kafka_offset: 0 }
  await client.insert({ table: trendSnapshots.name, values: [{ ...row, ...place }], format: 'JSONEachRow' })
  await tableStore(trendSnapshots, client, ALONE).prepare()
  const [old] = (await readSnapshot(client as unknown as TableReader, { woeid: 1, from: AT, to: AT }))!.entries
  expect(old).toMatchObject({ term: 'old', volume_24h: null, velocity_vs_usual: null, trending_since: null, users: null, variants: [] })
})

test('columns contain the values that were sent, and a posted list has a row for each of the 100 ranks', async () => {
  const { client, put } = await world()
  const sample_tweets = [-1n, 2n ** 63n - 1n]
  const sent = { score: -0.25, rank_change: 3, peak_rank: 1, lang: 'de', related: ['r'], typical_tweet: 5n }
  await put({
    woeid: -7,
    source: 'endpoint',
    entries: [entry('é'.repeat(80), { ...sent, sample_tweets, users: 2 ** 40 }), entry('b', { users: null })],
  })
  const result = await client.query({
    query:
      'SELECT woeid, rank, term, score, arrayMap(id -> toString(id), sample_ids) AS ids, toString(users) AS users, version, kafka_offset FROM trend_snapshots ORDER BY rank LIMIT 3',
    format: 'JSONEachRow',
  })
  const common = { woeid: -7, version: 1, kafka_offset: 0 }
  expect(await result.json()).toEqual([
    { ...common, rank: 1, term: 'é'.repeat(80), score: -0.25, ids: sample_tweets.map(String), users: String(2 ** 40) },
    expect.objectContaining({ ...common, rank: 2, term: 'b', users: null }),
    { ...common, rank: 3, term: '', score: null, ids: [], users: null },
  ])
  const rows = await client.query({ query: 'SELECT count() AS rows FROM trend_snapshots', format: 'JSONEachRow' })
  expect(await rows.json()).toEqual([{ rows: 100 }])
})
