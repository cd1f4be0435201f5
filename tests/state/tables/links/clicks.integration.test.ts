import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ClickDetails } from '../../../../schemas/links/types.ts'
import { type ClickCursor, clicksTable, readClicks } from '../../../../state/tables/links/clicks.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { rowsOf, testDatabase } from '../database.ts'

const TOPIC = 'click-details'
const MINUTE = 60_000
const ONE_SERVER = { cluster: undefined }

type Client = Awaited<ReturnType<typeof testDatabase>>['client']

function click(number: number, clicked_at: number): ClickDetails {
  return {
    short_code: `code-${number % 3}`,
    clicked_at,
    referrer: 'direct',
    country: number % 2 === 0 ? 'DE' : 'unknown',
    browser: 'Chrome',
    device: number % 10 === 0 ? 'bot' : 'desktop',
    bot: number % 10 === 0,
    visitor: (number % 20).toString(16).padStart(16, '0'),
    ip: '',
  }
}

/**
 * Inserts clicks as a sink does.
 * @param from offset of the first click
 */
async function insert(client: Client, clicks: readonly ClickDetails[], from: number): Promise<void> {
  const store = tableStore(clicksTable, client, ONE_SERVER)
  const byDay = Map.groupBy(clicks.entries(), ([, each]) => clicksTable.partitionOf(each.short_code, each))
  for (const entries of byDay.values()) {
    const rows = [...entries].map(([index, each]) => ({ offset: from + index, row: clicksTable.rowsOf(each.short_code, each)[0] }))
    await store.insert({ topic: TOPIC, partition: 0, rows })
  }
}

async function renewed(client: Client): Promise<void> {
  await client.command({ query: 'SYSTEM REFRESH VIEW click_days_renewal' })
  await client.command({ query: 'SYSTEM WAIT VIEW click_days_renewal' })
}

/** Reads the clicks per day from the roll-up. */
async function days(client: Client): Promise<unknown[]> {
  return rowsOf(
    client,
    `SELECT toString(day) AS date, toUInt32(sum(clicks)) AS total, toUInt32(sumIf(clicks, device = 'bot')) AS bots
FROM click_days FINAL GROUP BY day ORDER BY day`,
  )
}

async function freshTable(): Promise<Client> {
  const { client } = await testDatabase()
  await tableStore(clicksTable, client, ONE_SERVER).prepare()
  // Disables merges and ClickHouse's own deduplication of inserts, because both would hide duplicates.
  const merges = 'max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1'
  await client.command({ query: `ALTER TABLE clicks MODIFY SETTING ${merges}, non_replicated_deduplication_window = 0` })
  return client
}

const isoDayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

test('the roll-up counts each click once, despite repeated inserts and computations', async () => {
  const client = await freshTable()
  const midnight = new Date().setUTCHours(0, 0, 0, 0)
  const yesterday = Array.from({ length: 60 }, (_, number) => click(number, midnight - MINUTE))
  const today = Array.from({ length: 40 }, (_, number) => click(number, midnight + number))
  await insert(client, [...yesterday, ...today], 0)
  await renewed(client)
  const expected = [
    { date: isoDayOf(midnight - MINUTE), total: 60, bots: 6 },
    { date: isoDayOf(midnight), total: 40, bots: 4 },
  ]
  expect(await days(client)).toEqual(expected)

  // Simulates a second sink that writes the same partition. It inserts the same rows again, in different batches.
  await insert(client, yesterday.slice(10, 50), 10)
  await insert(client, today.slice(0, 30), 60)
  const [{ rows }] = await rowsOf<{ rows: number }>(client, 'SELECT toUInt32(count()) AS rows FROM clicks')
  expect(rows).toBe(170)
  await renewed(client)
  await renewed(client)
  expect(await days(client)).toEqual(expected)
  const [{ visitors }] = await rowsOf<{ visitors: number }>(
    client,
    'SELECT toUInt32(uniqCombined64Merge(12)(visitors)) AS visitors FROM click_days',
  )
  expect(visitors).toBe(20)
})

test('late clicks make the roll-up compute their day again, and only days with new clicks are computed', async () => {
  const client = await freshTable()
  const now = Date.now()
  const day = 24 * 60 * MINUTE
  await insert(client, [click(1, now - 3 * day)], 0)
  await insert(client, [click(2, now)], 1)
  await renewed(client)
  // Moves the insertion time of all rows into the past, so that the roll-up treats them as old.
  await client.command({
    query: `ALTER TABLE clicks UPDATE inserted_at = now() - INTERVAL 1 HOUR WHERE 1`,
    clickhouse_settings: { mutations_sync: '2' },
  })
  await client.command({ query: 'TRUNCATE TABLE click_days' })
  await client.command({ query: "INSERT INTO click_days (day, computed_at) SELECT today(), now('UTC')" })
  await insert(client, [click(3, now - 3 * day)], 2)
  await renewed(client)
  const found = await rowsOf<{ day: string; clicks: number }>(
    client,
    "SELECT toString(day) AS day, toUInt32(sum(clicks)) AS clicks FROM click_days WHERE short_code != '' GROUP BY day",
  )
  expect(found).toEqual([{ day: isoDayOf(now - 3 * day), clicks: 2 }])
})

test('two sinks that prepare an existing table at the same time find the same identity', async () => {
  const client = await freshTable()
  const store = tableStore(clicksTable, client, ONE_SERVER)
  const [first, second] = await Promise.all([store.prepare(), store.prepare()])
  expect(first).toBe(second)
})

test("the pages of a link's clicks contain each click once, in order, despite repeated inserts", async () => {
  const client = await freshTable()
  const now = Date.now()
  const clicks = Array.from({ length: 90 }, (_, number) => click(number, now - MINUTE + Math.floor(number / 10)))
  await insert(client, clicks, 0)
  await insert(client, clicks.slice(20, 60), 20)
  const range = { code: 'code-1', from: now - MINUTE + 1, to: now - MINUTE + 8 }
  const expected = clicks.filter(
    ({ short_code, clicked_at }) => short_code === 'code-1' && clicked_at >= range.from && clicked_at < range.to,
  )
  const found: number[] = []
  let next: ClickCursor | undefined
  do {
    const page = await readClicks(client, range, next, 7)
    expect(page.clicks.length).toBeLessThanOrEqual(7)
    found.push(...page.clicks.map(({ clickedAt }) => clickedAt))
    next = page.next
  } while (next !== undefined)
  expect(found).toEqual(expected.map(({ clicked_at }) => clicked_at))
})

test('every documented query runs, and returns rows if and only if rows are expected', async () => {
  const client = await freshTable()
  const text = readFileSync(new URL('../../../../docs/clicks.md', import.meta.url), 'utf8')
  const queries = [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql)
  expect(queries.length).toBeGreaterThan(4)
  await insert(
    client,
    Array.from({ length: 50 }, (_, number) => click(number, Date.now())),
    0,
  )
  await renewed(client)
  const found = []
  for (const query of queries) found.push((await rowsOf(client, query)).length > 0)
  // No link has a hundred clicks.
  expect(found).toEqual(queries.map((query) => !query.includes('> 100')))
})
