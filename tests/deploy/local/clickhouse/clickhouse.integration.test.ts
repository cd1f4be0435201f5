import { gzipSync } from 'node:zlib'
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import fc from 'fast-check'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { privateClickhouse, testStack, uniqueName } from '../../../stack/index.ts'

let url: string
beforeAll(async () => {
  url = await testStack().clickhouse()
})

const QUIET = { level: ClickHouseLogLevel.OFF }
/**
 * Makes ClickHouse quote 64-bit numbers. Since version 25.8, ClickHouse writes them as plain JSON numbers by default,
 * and JavaScript would round those.
 */
const EXACT = { output_format_json_quote_64bit_integers: 1 } as const

function client(options: Parameters<typeof createClient>[0] = {}): ClickHouseClient {
  const created = createClient({ url, clickhouse_settings: EXACT, log: QUIET, ...options })
  onTestFinished(() => created.close())
  return created
}

async function table(columns: string): Promise<string> {
  const name = uniqueName('t').replace('-', '_')
  await client().command({ query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple()` })
  return name
}

async function rows<T>(query: string, parameters: Record<string, unknown> = {}): Promise<T[]> {
  const result = await client().query({ query, query_params: parameters, format: 'JSONEachRow' })
  return result.json<T>()
}

const request = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, init)

test('the server answers both forms of ping', async () => {
  expect(await client().ping()).toEqual({ success: true })
  expect(await client().ping({ select: true })).toEqual({ success: true })
  expect(await (await request('/')).text()).toBe('Ok.\n')
})

test('the server inserts JSON rows and returns them to queries with typed parameters', async () => {
  const t = await table('id UInt64, name String, tags Array(String), at DateTime64(3), score Nullable(Float64)')
  await client().insert({
    table: t,
    format: 'JSONEachRow',
    values: [
      { id: '9223372036854775807', name: "it's\n\n; DROP TABLE x -- \t\\", tags: ["a'b", ''], at: '2024-05-01 10:00:00.123', score: null },
      { id: 2, name: 'zwei', tags: [], at: '2024-05-01 10:00:01.000', score: 0.5 },
    ],
  })
  const name = "it's\n\n; DROP TABLE x -- \t\\"
  const found = await rows(
    `SELECT id, name, tags, score FROM {table:Identifier}
     WHERE name = {name:String} AND has(tags, {tag:String}) AND id IN {ids:Array(UInt64)} AND at >= {from:DateTime} AND score IS NOT DISTINCT FROM {score:Nullable(Float64)}`,
    { table: t, name, tag: "a'b", ids: [9223372036854775807n, 2], from: new Date(Date.UTC(2024, 0, 1)), score: null },
  )
  expect(found).toEqual([{ id: '9223372036854775807', name, tags: ["a'b", ''], score: null }])
})

test('any text in rows and parameters comes back unchanged', async () => {
  const t = await table('n UInt32, s String')
  let n = 0
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom('\n', '\r', '\t', '\0', "'", '"', '`', '\\', ';', '-', ' ', '{', '}', '/*', '*/', '$$', 'a', 'é', '😀'),
    }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (texts) => {
      const values = texts.map((s) => ({ n: n++, s }))
      await client().insert({ table: t, format: 'JSONEachRow', values })
      const back = await rows<{ s: string }>(`SELECT s FROM ${t} WHERE n >= {from:UInt32} ORDER BY n`, { from: values[0].n })
      expect(back.map(({ s }) => s)).toEqual(texts)
      const [echo] = await rows<{ s: string }>('SELECT {s:String} AS s', { s: texts[0] })
      expect(echo.s).toBe(texts[0])
    }),
    { numRuns: 100 },
  )
})

test.each([
  ['JSONEachRow', '{"n":1,\n\n"s":"a"}\n\n{"n":2,"s":"b"}'],
  ['CSV', '1,"a\n\n;DROP"\n2,b\n'],
  ['TabSeparated', '1\ta\\n\n2\tb\n'],
  ['Values', "(1,'a\n\n'),(2,'b')"],
  ['JSONCompactEachRow', '[1,"a"]\n[2,"b"]'],
])('the server accepts %s rows in the body', async (format, body) => {
  const t = await table('n UInt32, s String')
  const query = encodeURIComponent(`INSERT INTO ${t} SETTINGS async_insert = 0 FORMAT ${format}`)
  const response = await request(`/?query=${query}`, { method: 'POST', body })
  expect(await response.text()).toBe('')
  expect(response.status).toBe(200)
  expect(await rows(`SELECT sum(n) AS sum, count() AS count FROM ${t}`)).toEqual([{ sum: '3', count: '2' }])
})

test('binary rows are accepted', async () => {
  const t = await table('n UInt32, s String')
  const body = Buffer.from([1, 0, 0, 0, 2, 0x0a, 0x0a, 2, 0, 0, 0, 0])
  await request(`/?query=${encodeURIComponent(`INSERT INTO ${t} FORMAT RowBinary`)}`, { method: 'POST', body })
  expect(await rows(`SELECT n, s FROM ${t} ORDER BY n`)).toEqual([
    { n: 1, s: '\n\n' },
    { n: 2, s: '' },
  ])
})

test('a statement may be in the body together with its rows', async () => {
  const t = await table('n UInt32, s String')
  for (const body of [`INSERT INTO ${t} VALUES (1, 'a\n\n;')`, `INSERT INTO ${t} FORMAT JSONEachRow {"n":2,"s":"b"}\n\n{"n":3,"s":"c"}`]) {
    expect((await request('/', { method: 'POST', body })).status).toBe(200)
  }
  await request(`/?query=INSERT`, { method: 'POST', body: ` INTO ${t} VALUES (4, 'd')` })
  expect(await rows(`SELECT groupArray(n) AS n FROM (SELECT n FROM ${t} ORDER BY n)`)).toEqual([{ n: [1, 2, 3, 4] }])
})

test('the server accepts compressed requests, and compresses responses on request', async () => {
  const both = client({ compression: { request: true, response: true } })
  const t = await table('s String')
  await both.insert({ table: t, format: 'JSONEachRow', values: Array.from({ length: 1000 }, () => ({ s: 'x'.repeat(100) })) })
  const result = await both.query({ query: `SELECT s FROM ${t}`, format: 'JSONEachRow' })
  expect(result.response_headers['content-encoding']).toBe('gzip')
  expect(await result.json()).toHaveLength(1000)
  const response = await request(`/?query=${encodeURIComponent(`INSERT INTO ${t} FORMAT CSV`)}`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync('y\n'),
  })
  expect(response.status).toBe(200)
  expect(await rows(`SELECT count() AS n FROM ${t}`)).toEqual([{ n: '1001' }])
})

test.each([
  ['SELECT * FROM no_such_table', 404, 60, 'UNKNOWN_TABLE'],
  ['SELECT no_such_function(1)', 404, 46, 'UNKNOWN_FUNCTION'],
  ['SELEC 1', 400, 62, 'SYNTAX_ERROR'],
  ['SELECT 1; SELECT 2', 400, 62, 'SYNTAX_ERROR'],
  ['SELECT throwIf(1)', 500, 395, 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
  ['SELECT {missing:String}', 400, 456, 'UNKNOWN_QUERY_PARAMETER'],
])('%s is refused with status %i and code %i', async (query, status, code, type) => {
  const response = await request('/', { method: 'POST', body: query })
  expect(response.status).toBe(status)
  expect(response.headers.get('x-clickhouse-exception-code')).toBe(String(code))
  const failing = client().command({ query })
  await expect(failing).rejects.toThrow(ClickHouseError)
  await expect(failing).rejects.toMatchObject({ code: String(code), type })
})

test('an insert that contains an invalid row is refused as a whole', async () => {
  const t = await table('n UInt32')
  const failing = client().insert({ table: t, format: 'JSONEachRow', values: [{ n: 1 }, { n: 'x' }] })
  await expect(failing).rejects.toMatchObject({ code: '27' })
  expect(await rows(`SELECT count() AS n FROM ${t}`)).toEqual([{ n: '0' }])
})

test('settings apply only to their own request, even among many concurrent requests', async () => {
  const shared = client()
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const result = await shared.query({
        query: "SELECT {i:UInt32} AS i, getSetting('max_block_size') AS size, getSetting('max_result_rows') AS rows",
        query_params: { i: index },
        clickhouse_settings: index % 2 === 0 ? { max_block_size: String(1000 + index) } : { max_result_rows: String(7 + index) },
        format: 'JSONEachRow',
      })
      return (await result.json<{ i: number; size: number; rows: number }>())[0]
    }),
  )
  for (const [index, answer] of answers.entries()) {
    expect(answer.i).toBe(index)
    expect(answer.size === 1000 + index).toBe(index % 2 === 0)
    expect(answer.rows).toBe(index % 2 === 0 ? 0 : 7 + index)
  }
})

test('a parameter, a header or the client can set the database', async () => {
  const database = uniqueName('db').replace('-', '_')
  await client().command({ query: `CREATE DATABASE ${database}` })
  expect(await (await request(`/?database=${database}&query=SELECT+currentDatabase()`)).text()).toBe(`${database}\n`)
  expect(await (await request('/?query=SELECT+currentDatabase()', { headers: { 'x-clickhouse-database': database } })).text()).toBe(
    `${database}\n`,
  )
  const there = client({ database })
  await there.command({ query: 'CREATE TABLE here (a UInt8) ENGINE = Memory' })
  await there.insert({ table: 'here', values: [{ a: 1 }], format: 'JSONEachRow' })
  expect(await rows(`SELECT a FROM ${database}.here`)).toEqual([{ a: 1 }])
})

test('a GET request cannot insert rows, and the query, a parameter or a header determines the output format', async () => {
  const t = await table('n UInt32')
  const insert = await request(`/?query=${encodeURIComponent(`INSERT INTO ${t} VALUES (1)`)}`)
  expect(insert.status).toBe(403)
  expect(insert.headers.get('x-clickhouse-exception-code')).toBe('164')
  const query = 'query=SELECT+1+AS+a'
  expect(await (await request(`/?${query}`)).text()).toBe('1\n')
  expect(await (await request(`/?${query}&default_format=CSVWithNames`)).text()).toBe('"a"\n1\n')
  expect(await (await request(`/?${query}`, { headers: { 'x-clickhouse-format': 'JSONEachRow' } })).text()).toBe('{"a":1}\n')
  const chosen = await request(`/?${query}+FORMAT+JSONCompactEachRow&default_format=CSV&query_id=mine`)
  expect(await chosen.text()).toBe('[1]\n')
  expect(chosen.headers.get('x-clickhouse-format')).toBe('JSONCompactEachRow')
  expect(chosen.headers.get('x-clickhouse-query-id')).toBe('mine')
  expect(chosen.headers.get('content-type')).toMatch(/^application\/json/)
})

test('features that the local server lacks and settings that do not exist are refused instead of ignored', async () => {
  for (const parameter of ['session_id=x', 'role=admin', 'decompress=1']) {
    const response = await request(`/?query=SELECT+1&${parameter}`)
    expect(response.status).toBe(501)
  }
  expect((await request('/?query=SELECT+1&no_such_setting=1')).status).toBe(404)
  expect((await request('/?query=SELECT+1&bad-name=1')).status).toBe(400)
})

test('acknowledged rows survive kill -9, and each unacknowledged insert is either complete or absent', async () => {
  const server = await privateClickhouse()
  const BATCH = 500
  const writer = createClient({ url: server.address, log: QUIET })
  onTestFinished(() => writer.close())
  await writer.command({ query: 'CREATE TABLE t (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY (batch, n)' })
  let acknowledged = 0
  let killed = false
  const writing = (async () => {
    for (let batch = 0; !killed; batch++) {
      await writer.insert({ table: 't', format: 'JSONEachRow', values: Array.from({ length: BATCH }, (_, n) => ({ batch, n })) })
      acknowledged = batch + 1
    }
  })().catch(() => undefined)
  await expect.poll(() => acknowledged, { timeout: 20_000 }).toBeGreaterThan(20)
  await server.kill()
  killed = true
  await writing
  await server.start()
  const reader = createClient({ url: server.address, clickhouse_settings: EXACT })
  onTestFinished(() => reader.close())
  const result = await reader.query({ query: 'SELECT batch, count() AS n FROM t GROUP BY batch ORDER BY batch', format: 'JSONEachRow' })
  const batches = await result.json<{ batch: number; n: string }>()
  expect(batches.length).toBeGreaterThanOrEqual(acknowledged)
  expect(batches.length).toBeLessThanOrEqual(acknowledged + 1)
  expect(batches.every(({ n }) => n === String(BATCH))).toBe(true)
})
