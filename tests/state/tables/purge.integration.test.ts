import { createClient } from '@clickhouse/client'
import { expect, onTestFinished, test } from 'vitest'
import { type Purge, tablePurger } from '../../../state/tables/purge.ts'
import { tableStore } from '../../../state/tables/store.ts'
import { rowsOf, testDatabase } from './database.ts'
import { eventsTable } from './events-table.ts'

const ALONE = { cluster: undefined }
const NOVEMBER = Date.UTC(2026, 10, 30)
/** A row with the number 1 erases the earlier rows of its id. */
const PURGE: Purge = { table: eventsTable.name, key: 'id', erases: 'number = 1' }
const ERASED_KEYS = 200_000
/** Memory that a run may take per key of the table. */
const BYTES_PER_KEY = 500

async function open() {
  const { client, url, database } = await testDatabase()
  const store = tableStore(eventsTable, client, ALONE)
  await store.prepare()
  /** Inserts one row per id. Their offsets begin at `offset`. */
  async function insert(topic: string, offset: number, number: number, ids: readonly string[]): Promise<void> {
    const rows = ids.map((id, index) => ({ offset: offset + index, row: { id, number, at: NOVEMBER } }))
    await store.insert({ topic, partition: 0, rows })
  }
  const left = async () => (await rowsOf<{ id: string }>(client, 'SELECT id FROM events ORDER BY id')).map(({ id }) => id)
  return { client, url, database, insert, left, purger: tablePurger(client, PURGE, ALONE) }
}

test('replaced rows vanish, and a run without further replaced rows reports that it has erased nothing', async () => {
  const { insert, left, purger } = await open()
  await insert('topic', 0, 0, ['a', 'b'])
  await insert('topic', 2, 1, ['a'])
  expect(await left()).toEqual(['a', 'a', 'b'])
  expect(await purger.run()).toEqual({ removed: 1, hasErased: true })
  expect(await left()).toEqual(['a', 'b'])
  expect(await purger.run()).toEqual({ removed: 0, hasErased: false })
})

test('in a table that is fed by two topics, rows of the topic with the lower offsets are purged, too', async () => {
  const { insert, left, purger } = await open()
  await insert('long', 1_000, 0, ['a'])
  await insert('short', 0, 0, ['b'])
  await purger.run()
  await insert('short', 1, 1, ['b'])
  expect(await purger.run()).toEqual({ removed: 1, hasErased: true })
  expect(await left()).toEqual(['a', 'b'])
})

test('a table that is filled again from the beginning is purged again', async () => {
  const { client, insert, left, purger } = await open()
  await insert('topic', 100, 0, ['a'])
  await insert('topic', 101, 1, ['a'])
  await purger.run()
  await client.command({ query: 'ALTER TABLE events DELETE WHERE 1', clickhouse_settings: { mutations_sync: '2' } })
  await insert('topic', 0, 0, ['b'])
  await insert('topic', 1, 1, ['b'])
  expect(await purger.run()).toEqual({ removed: 1, hasErased: true })
  expect(await left()).toEqual(['b'])
})

test('3,000 rows are removed in one run', async () => {
  const { insert, left, purger } = await open()
  const ids = Array.from({ length: 3_000 }, (_, index) => `event ${index}`)
  await insert('topic', 0, 0, ids)
  await insert('topic', ids.length, 1, ids)
  expect(await purger.run()).toEqual({ removed: ids.length, hasErased: true })
  expect(await left()).toHaveLength(ids.length)
})

test('the first run needs at most 100 MB of memory, although 200,000 keys of the table have been erased', async () => {
  const { client, insert, url, database } = await open()
  await client.command({
    query: `INSERT INTO events (id, number, at, kafka_topic, kafka_partition, kafka_offset)
SELECT toString(sipHash64(number)), 1, fromUnixTimestamp64Milli(${NOVEMBER}), 'topic', 0, number FROM numbers(${ERASED_KEYS})`,
  })
  await insert('topic', ERASED_KEYS, 0, ['a'])
  await insert('topic', ERASED_KEYS + 1, 1, ['a'])
  const limited = createClient({ url, database, clickhouse_settings: { max_memory_usage: String(ERASED_KEYS * BYTES_PER_KEY) } })
  onTestFinished(() => limited.close())
  const purger = tablePurger(limited, PURGE, ALONE)
  expect(await purger.run()).toEqual({ removed: 1, hasErased: true })
  expect(await purger.run()).toEqual({ removed: 0, hasErased: false })
})
