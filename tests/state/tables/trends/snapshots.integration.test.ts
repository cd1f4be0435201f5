import { expect, test } from 'vitest'
import { listBytesOf, type TrendListBytes } from '../../../../schemas/trends/trend-list-bytes.ts'
import type { TrendOutput } from '../../../../schemas/trends/types.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { readSnapshot, trendSnapshots } from '../../../../state/tables/trends/trend-snapshots.ts'
import { entry } from '../../views/entries.ts'
import { testDatabase } from '../database.ts'

const ALONE = { cluster: undefined }
const MINUTE_S = 60
const SECOND_MS = 1_000
/** The full minute before the test, in epoch seconds. A fixed time would not do, because rows expire after 90 days. */
const AT = Math.floor(Date.now() / SECOND_MS / MINUTE_S) * MINUTE_S

async function world(table: typeof trendSnapshots = trendSnapshots) {
  const { client } = await testDatabase()
  const store = tableStore(table, client, ALONE)
  await store.prepare()
  let offset = 0
  const put = (list: Partial<TrendOutput>) => {
    const whole: TrendOutput = { woeid: 1, window_end: AT * SECOND_MS, source: 'pipeline', missing_partitions: 0, entries: [], ...list }
    const rows = table.rowsOf(whole.woeid, listBytesOf(whole)).map((row) => ({ offset, row }))
    offset++
    return store.insert({ topic: 'trend-output', partition: 0, rows })
  }
  const read = (from: number, to: number, woeid = 1) => readSnapshot(client as unknown as TableReader, { woeid, from, to })
  return { client, put, read }
}

test('returns the newest snapshot within the bounds, as it was written', async () => {
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

test('an empty list hides the one before it', async () => {
  const { put, read } = await world()
  await put({ window_end: (AT - MINUTE_S) * SECOND_MS, entries: [entry('older')] })
  await put({})
  expect(await read(AT - 180, AT)).toEqual({ windowEnd: AT * SECOND_MS, entries: [] })
})

test('a posted list replaces the longer one of the same window', async () => {
  const { put, read } = await world()
  await put({ source: 'endpoint', entries: [entry('posted')] })
  await put({ entries: [entry('a'), entry('b')] })
  expect((await read(AT, AT))!.entries.map(({ term }) => term)).toEqual(['posted'])
})

test('a table from before the further columns gets them, and its rows have no values there', async () => {
  const added = ['volume_24h', 'velocity_vs_usual', 'score', 'trending_since', 'users', 'variants']
  const isAdded = (text: string) => added.some((name) => text.startsWith(name))
  const before = {
    ...trendSnapshots,
    columns: trendSnapshots.columns.filter((column) => !isAdded(column)),
    migrations: [],
    rowsOf: (woeid: number, list: TrendListBytes | null) =>
      trendSnapshots.rowsOf(woeid, list).map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !isAdded(name)))),
  }
  const { client, put, read } = await world(before)
  await put({ entries: [entry('old')] })
  await tableStore(trendSnapshots, client, ALONE).prepare()
  const [old] = (await read(AT, AT))!.entries
  expect(old).toMatchObject({ term: 'old', volume_24h: null, velocity_vs_usual: null, trending_since: null, users: null, variants: [] })
})
