import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { catchUpsStatement, caughtUpPartitions } from '../../../state/tables/catch-ups.ts'
import { connectSinkClickhouse } from '../../../state/tables/connect.ts'
import { clickDaysStatements } from '../../../state/tables/links/click-days.ts'
import { migrateTable } from '../../../state/tables/migrate.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { RowBinary } from '../../../state/tables/row-binary.ts'
import { tableStore } from '../../../state/tables/store.ts'
import { type BinaryTable, createStatement, type Table } from '../../../state/tables/table.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'
import { privateClickhouse } from '../../stack/index.ts'
import { rowsOf, testDatabase } from './database.ts'
import { type Event, eventsTable } from './events-table.ts'

const ALONE = { cluster: undefined }
const NOVEMBER = Date.UTC(2026, 10, 30, 23, 59, 59, 999)
const DECEMBER = NOVEMBER + 1

async function open(table: Table<string, Event> = eventsTable) {
  const { client } = await testDatabase()
  const store = tableStore(table, client, ALONE)
  const identity = await store.prepare()
  return { client, store, identity }
}

const rows = (from: number, count: number, at = NOVEMBER) =>
  Array.from({ length: count }, (_, index) => ({ offset: from + index, row: { id: `event ${from + index}`, number: 0, at } }))

test('an insert creates one part, and the position is the offset after its last row', async () => {
  const { client, store } = await open()
  expect(await store.position('topic', 3)).toBeUndefined()
  await store.insert({ topic: 'topic', partition: 3, rows: rows(100, 40_000) })
  expect(
    await rowsOf(
      client,
      `SELECT toUInt32(rows) AS rows FROM system.parts WHERE table = 'events' AND database = currentDatabase() AND active`,
    ),
  ).toEqual([{ rows: 40_000 }])
  expect(await store.position('topic', 3)).toBe(40_100)
  expect(await store.position('topic', 2)).toBeUndefined()
  expect(await store.position('other', 3)).toBeUndefined()
})

test('the position is read from the projection, even after merges', async () => {
  const { client, store } = await open()
  for (let insert = 0; insert < 5; insert++) await store.insert({ topic: 'topic', partition: 0, rows: rows(insert * 10, 10) })
  await client.command({ query: 'OPTIMIZE TABLE events FINAL' })
  expect(await store.position('topic', 0)).toBe(50)
  const plan = await rowsOf<{ explain: string }>(
    client,
    `EXPLAIN SELECT max(kafka_offset) FROM events WHERE kafka_topic = 'topic' AND kafka_partition = 0 GROUP BY kafka_topic, kafka_partition`,
  )
  expect(plan.map(({ explain }) => explain).join('\n')).toContain('ReadFromMergeTree (kafka_position)')
})

test('ClickHouse itself deduplicates a repeated insert', async () => {
  const { client, store } = await open()
  const insert = { topic: 'topic', partition: 0, rows: rows(0, 10) }
  await store.insert(insert)
  await store.insert(insert)
  expect(await rowsOf(client, 'SELECT toUInt32(count()) AS count FROM events')).toEqual([{ count: 10 }])
})

test('records from a recreated topic are not mistaken for a repeated insert', async () => {
  const { client, store } = await open()
  const insert = { topic: 'topic', partition: 0, rows: rows(0, 10) }
  await store.noteTopicId('topic', 0, 'before')
  await store.insert(insert)
  await client.command({ query: 'ALTER TABLE events DELETE WHERE 1', clickhouse_settings: { mutations_sync: '2' } })
  await store.noteTopicId('topic', 0, 'after')
  await store.insert(insert)
  expect(await rowsOf(client, 'SELECT toUInt32(count()) AS count FROM events')).toEqual([{ count: 10 }])

  const restarted = tableStore(eventsTable, client, ALONE)
  await restarted.prepare()
  expect(await restarted.topicId('topic', 0)).toBe('after')
  await restarted.insert(insert)
  expect(await rowsOf(client, 'SELECT toUInt32(count()) AS count FROM events')).toEqual([{ count: 10 }])
})

test('each partition that a table has caught up with counts once, and a recreated table has caught up with none', async () => {
  const { client, store } = await open()
  const caughtUp = async () => (await caughtUpPartitions(client as unknown as TableReader, 'events'))[0]
  expect(await caughtUp()).toBe(0)
  await store.noteCaughtUp('topic', 0)
  await store.noteCaughtUp('topic', 1)
  await tableStore(eventsTable, client, ALONE).prepare()
  await store.noteCaughtUp('topic', 1)
  expect(await caughtUp()).toBe(2)
  await client.command({ query: 'DROP TABLE events' })
  expect(await caughtUp()).toBe(0)
  await store.prepare()
  expect(await caughtUp()).toBe(0)
  await store.noteCaughtUp('topic', 0)
  expect(await caughtUp()).toBe(1)
})

test('after a topic was recreated, the table has not yet caught up with it', async () => {
  const { client, store } = await open()
  const caughtUp = async () => (await caughtUpPartitions(client as unknown as TableReader, 'events'))[0]
  for (const partition of [0, 1]) {
    await store.noteTopicId('topic', partition, 'before')
    await store.noteCaughtUp('topic', partition)
  }
  const restarted = tableStore(eventsTable, client, ALONE)
  await restarted.prepare()
  expect(await restarted.topicId('topic', 0)).toBe('before')
  await restarted.noteTopicId('topic', 0, 'before')
  expect(await caughtUp()).toBe(2)
  await restarted.noteTopicId('topic', 0, 'after')
  expect(await caughtUp()).toBe(1)
  await restarted.noteCaughtUp('topic', 0)
  expect(await caughtUp()).toBe(2)
})

test('a table catches up with a recreated topic even if ClickHouse deduplicates inserts, as it does for replicated tables', async () => {
  const { client, store } = await open()
  const caughtUp = async () => (await caughtUpPartitions(client as unknown as TableReader, 'events'))[0]
  await client.command({ query: 'ALTER TABLE table_catch_ups MODIFY SETTING non_replicated_deduplication_window = 1000' })
  await store.noteTopicId('topic', 0, 'before')
  await store.noteCaughtUp('topic', 0)
  await store.noteTopicId('topic', 0, 'after')
  expect(await caughtUp()).toBe(0)
  await store.noteCaughtUp('topic', 0)
  expect(await caughtUp()).toBe(1)
})

test('a table remembers the id of its topic, and a recreated table has none', async () => {
  const { client, store } = await open()
  expect(await store.topicId('topic', 0)).toBeUndefined()
  await store.noteTopicId('topic', 0, 'first')
  await store.noteTopicId('topic', 1, 'another')
  expect(await store.topicId('topic', 0)).toBe('first')
  await store.noteTopicId('topic', 0, 'second')
  expect(await store.topicId('topic', 0)).toBe('second')
  await client.command({ query: 'DROP TABLE events' })
  await store.prepare()
  expect(await store.topicId('topic', 0)).toBeUndefined()
})

test('text with any special characters stays within its row', async () => {
  const { client, store } = await open()
  const ids = ['a\n\nb', 'quo\'te"s', 'tab\t\\', 'nul\0', '\u2028', '}\n\n; DROP TABLE events', '']
  await store.insert({ topic: 'topic', partition: 0, rows: ids.map((id, offset) => ({ offset, row: { id, number: 0, at: NOVEMBER } })) })
  const found = await rowsOf<{ id: string }>(client, 'SELECT id FROM events ORDER BY kafka_offset')
  expect(found.map(({ id }) => id)).toEqual(ids)
})

test('an insert of binary rows creates one part, sets the position after the last offset, accepts any text, and is deduplicated', async () => {
  const { client } = await testDatabase()
  const { rowsOf: _, ...definition } = eventsTable
  const table: BinaryTable<string, Event> = { ...definition, binaryColumns: ['id', 'number', 'at'], writeRows() {} }
  const store = tableStore(table, client, ALONE)
  await store.prepare()
  const rows = new RowBinary({ topic: 'topic', partition: 3 })
  const texts = ['', 'a\n\nb', 'nul\0', '}\n; DROP TABLE events', 'é'.repeat(300), '😀']
  const count = 40_000
  for (let i = 0; i < count; i++) {
    rows.values.text(texts[i] ?? `event ${i}`)
    rows.values.uint32(i)
    rows.values.uint64(NOVEMBER - i)
    rows.endRow(100 + i)
  }
  await store.insertBinary(rows)
  await store.insertBinary(rows)
  expect(await store.position('topic', 3)).toBe(100 + count)
  const parts = `SELECT toUInt32(rows) AS rows FROM system.parts WHERE table = 'events' AND database = currentDatabase() AND active`
  expect(await rowsOf(client, parts)).toEqual([{ rows: count }])
  const found = await rowsOf(
    client,
    'SELECT id, number, toUnixTimestamp64Milli(at) + number AS at FROM events ORDER BY kafka_offset LIMIT 6',
  )
  expect(found).toEqual(texts.map((id, number) => ({ id, number, at: NOVEMBER })))
})

test('binary rows that do not match the columns are not reported as an unavailable target', async () => {
  const { client } = await testDatabase()
  const { rowsOf: _, ...definition } = eventsTable
  const store = tableStore({ ...definition, binaryColumns: ['id', 'number', 'nothing'], writeRows() {} }, client, ALONE)
  await store.prepare()
  const rows = new RowBinary({ topic: 'topic', partition: 0 })
  rows.values.text('x')
  rows.endRow(1)
  const attempt = store.insertBinary(rows)
  await expect(attempt).rejects.toThrow()
  await expect(attempt).rejects.not.toBeInstanceOf(TargetUnavailableError)
})

test('of several rows with the same sorting key, the one with the highest offset is kept', async () => {
  const { client, store } = await open()
  const same = (offset: number, at: number) => [{ offset, row: { id: 'same', number: 0, at } }]
  await store.insert({ topic: 'topic', partition: 0, rows: same(1, NOVEMBER) })
  await store.insert({ topic: 'topic', partition: 0, rows: same(2, NOVEMBER - 5) })
  expect(await rowsOf(client, 'SELECT toUInt32(kafka_offset) AS kafka_offset FROM events FINAL')).toEqual([{ kafka_offset: 2 }])
})

test('a value that does not fit its column is not reported as an unavailable target', async () => {
  const { store } = await open()
  const attempt = store.insert({ topic: 'topic', partition: 0, rows: [{ offset: 1, row: { id: 'x', number: 'text', at: NOVEMBER } }] })
  await expect(attempt).rejects.toThrow()
  await expect(attempt).rejects.not.toBeInstanceOf(TargetUnavailableError)
})

test('the target is unavailable while ClickHouse does not respond, and is available again afterwards', async () => {
  const server = await privateClickhouse()
  const client = connectSinkClickhouse({ url: server.address })
  onTestFinished(() => client.close())
  const store = tableStore(eventsTable, client, ALONE)
  await store.prepare()
  await server.kill()
  await expect(store.insert({ topic: 'topic', partition: 0, rows: rows(0, 5) })).rejects.toThrow(TargetUnavailableError)
  await expect(store.position('topic', 0)).rejects.toThrow(TargetUnavailableError)
  await server.start()
  await store.insert({ topic: 'topic', partition: 0, rows: rows(0, 5, DECEMBER) })
  expect(await store.position('topic', 0)).toBe(5)
})

test('a table keeps its identity until it is dropped', async () => {
  const { client, store, identity } = await open()
  expect(await store.prepare()).toBe(identity)
  await client.command({ query: 'DROP TABLE events' })
  expect(await store.prepare()).not.toBe(identity)
})

test('sinks that start together agree on the identity of their table', async () => {
  const { client } = await testDatabase()
  const identities = await Promise.all(Array.from({ length: 4 }, () => tableStore(eventsTable, client, ALONE).prepare()))
  expect(new Set(identities).size).toBe(1)
})

test('migrations run once on an older table, and not at all on a new one', async () => {
  const { client } = await testDatabase()
  const run: string[] = []
  const migration = (id: string, statement: string) => ({
    id,
    statements: () => {
      run.push(id)
      return [statement]
    },
  })
  const first = migration('002-label', 'ALTER TABLE events ADD COLUMN IF NOT EXISTS label String')
  const second = migration('003-colour', 'ALTER TABLE events ADD COLUMN IF NOT EXISTS colour String')
  const deps = { client, newIdentity: randomUUID }
  await migrateTable(eventsTable, ALONE, deps)
  await migrateTable({ ...eventsTable, migrations: [first] }, ALONE, deps)
  await migrateTable({ ...eventsTable, migrations: [first, second] }, ALONE, deps)
  await migrateTable({ ...eventsTable, migrations: [first, second] }, ALONE, deps)
  expect(run).toEqual(['002-label', '003-colour'])
  await client.command({ query: 'DROP TABLE events' })
  await migrateTable(
    { ...eventsTable, columns: [...eventsTable.columns, 'label String', 'colour String'], migrations: [first, second] },
    ALONE,
    deps,
  )
  expect(run).toEqual(['002-label', '003-colour'])
})

test('the table is replicated in a cluster', () => {
  const statement = createStatement(eventsTable, 'identity', { cluster: 'main' })
  expect(statement).toContain("events ON CLUSTER 'main' (")
  expect(statement).toContain("ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', kafka_offset)")
  expect(statement).toContain('replicated_deduplication_window = 1000')
})

test.each(['main', 'eu-west-1', '{cluster}'])('statements for a cluster with the name %s are valid SQL', async (cluster) => {
  const { client } = await testDatabase()
  const statements = [
    createStatement(eventsTable, 'identity', { cluster }),
    catchUpsStatement({ cluster }),
    ...clickDaysStatements({ cluster }),
  ]
  for (const statement of statements) {
    const found = await client.query({
      query: 'SELECT formatQuery({statement:String}) AS text',
      query_params: { statement },
      format: 'JSONEachRow',
    })
    expect((await found.json<{ text: string }>())[0].text).toContain('ON CLUSTER')
  }
})
