import { expect, test } from 'vitest'
import type { LimitViolation } from '../../../../schemas/limits/types.ts'
import { limitViolationsTable, readViolations } from '../../../../state/tables/limits/violations.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { rowsOf, testDatabase } from '../database.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
const ALL = { offset: 0, limit: 1_000, now: NOW }

/**
 * Creates the table with these batches, and a reader that notes the periods of its queries. Inserts each batch
 * separately, because ClickHouse removes the duplicates within an insert.
 */
async function tableOf(...batches: readonly (readonly LimitViolation[])[]) {
  const { client } = await testDatabase()
  const store = tableStore(limitViolationsTable, client, { cluster: undefined })
  await store.prepare()
  // Merges would remove the duplicates and the expired rows.
  await client.command({ query: 'SYSTEM STOP MERGES limit_violations' })
  let offset = 0
  for (const batch of batches) {
    for (const month of Map.groupBy(batch, (each) => limitViolationsTable.partitionOf(each.client_id, each)).values()) {
      const rows = month.map((each) => ({ offset: offset++, row: limitViolationsTable.rowsOf(each.client_id, each)[0] }))
      await store.insert({ topic: 'limit-violations', partition: 0, rows })
    }
  }
  const periods: { from: number; to: number }[] = []
  const reader: TableReader = {
    query(request) {
      periods.push(request.query_params as (typeof periods)[number])
      return client.query(request) as ReturnType<TableReader['query']>
    },
  }
  return { client, reader, periods }
}

function violation(at: number, rule_id: string, client_id: string): LimitViolation {
  return { at, rule_id, client_id, method: 'GET', path: '/', action: 'reject', estimate: 2, limit_count: 1 }
}

const named = (found: Awaited<ReturnType<typeof readViolations>>) =>
  found.map(({ at, client_id }) => `${(NOW - at) / HOUR_MS} ${client_id}`)

test('violations that several instances recorded are listed once, newest first, for 30 days', async () => {
  const at = (hours: number, client: string) => violation(NOW - hours * HOUR_MS, 'one', client)
  const { client, reader } = await tableOf([at(0, 'a'), at(0, 'b'), at(-1, 'ahead'), at(29 * 24, 'old'), at(31 * 24, 'gone')], [at(0, 'a')])
  expect(await rowsOf(client, 'SELECT count() AS rows FROM limit_violations')).toEqual([{ rows: 6 }])
  expect(named(await readViolations(reader, ALL))).toEqual(['-1 ahead', '0 a', '0 b', '696 old'])
})

test('each violation is listed once, across pages and with filters, however the violations are distributed over time', async () => {
  const violations = Array.from({ length: 60 }, (_, index) => {
    return violation(NOW - Math.floor(1.3 ** Math.floor(index / 2)) * 600_000, `rule-${index % 3}`, `client-${index % 5}`)
  }).filter(({ at }) => at > NOW - 30 * DAY_MS)
  const { reader } = await tableOf(violations, violations)
  const all = await readViolations(reader, ALL)
  expect(all).toHaveLength(violations.length)
  expect(all.map(({ at }) => at)).toEqual(violations.map(({ at }) => at).sort((one, other) => other - one))
  const paged = []
  for (let offset = 0; offset <= violations.length; offset += 7) paged.push(...(await readViolations(reader, { ...ALL, offset, limit: 7 })))
  expect(paged).toEqual(all)
  const selected = { rule: 'rule-1', client: 'client-2' }
  const chosen = all.filter(({ rule_id, client_id }) => rule_id === selected.rule && client_id === selected.client)
  expect(chosen.length).toBeGreaterThan(1)
  expect(await readViolations(reader, { ...ALL, ...selected })).toEqual(chosen)
  expect(await readViolations(reader, { ...ALL, ...selected, offset: 1, limit: 1 })).toEqual([chosen[1]])
})

test('a query for the newest violations reads only the last hour, from rows that are sorted by time', async () => {
  const { client, reader, periods } = await tableOf(
    Array.from({ length: 500 }, (_, index) => violation(NOW - index * HOUR_MS - 1_000, 'one', `client-${index}`)),
  )
  expect(await readViolations(reader, { ...ALL, limit: 1 })).toHaveLength(1)
  expect(periods).toMatchObject([{ from: NOW / 1_000 - 3_600 }])
  await readViolations(reader, ALL)
  expect(periods.length).toBeLessThanOrEqual(1 + 5)
  const query = `SELECT second FROM limit_violations WHERE second >= toDateTime(${NOW / 1_000 - 3_600}) SETTINGS force_optimize_projection = 1`
  expect(await rowsOf(client, query)).toHaveLength(1)
})

test('a table from an earlier version gets the projection that sorts its rows by time', async () => {
  const { client } = await testDatabase()
  const { parts, migrations, ...earlier } = limitViolationsTable
  const row = limitViolationsTable.rowsOf('a', violation(NOW, 'one', 'a'))[0]
  const before = tableStore(earlier, client, { cluster: undefined })
  await before.prepare()
  await before.insert({ topic: 'limit-violations', partition: 0, rows: [{ offset: 0, row }] })
  await tableStore(limitViolationsTable, client, { cluster: undefined }).prepare()
  const query = "SELECT sum(rows) AS rows FROM system.projection_parts WHERE database = currentDatabase() AND name = 'by_time' AND active"
  await expect.poll(() => rowsOf(client, query), { timeout: 20_000 }).toEqual([{ rows: 1 }])
})
