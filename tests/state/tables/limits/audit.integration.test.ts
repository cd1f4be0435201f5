import { createClient } from '@clickhouse/client'
import { expect, onTestFinished, test } from 'vitest'
import { limitAuditTable, readAudit } from '../../../../state/tables/limits/audit.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import type { Row } from '../../../../state/tables/table.ts'
import { rowsOf, testDatabase } from '../database.ts'

const AT = Date.now()

test('changes to one rule at the same time are separate rows, and the newest one comes first', async () => {
  const { client } = await testDatabase()
  const store = tableStore(limitAuditTable, client, { cluster: undefined })
  await store.prepare()
  const change = (after: string): Row =>
    limitAuditTable.rowsOf('rule:one', { subject: 'rule:one', action: 'replace_rule', actor: '1', at: AT, before: null, after })[0]
  const rows = ['"first"', '"second"', '"third"'].map((after, index) => ({ offset: index + 8, row: change(after) }))
  await store.insert({ topic: 'limit-audit', partition: 0, rows: rows.slice(0, 2) })
  await store.insert({ topic: 'limit-audit', partition: 0, rows: rows.slice(2) })
  const found = async () => (await readAudit(client as never, 'rule:one', { offset: 0, limit: 10 })).map(({ after }) => after)
  expect(await found()).toEqual(['"third"', '"second"', '"first"'])
  await client.command({ query: 'OPTIMIZE TABLE limit_audit FINAL' })
  expect(await found()).toEqual(['"third"', '"second"', '"first"'])
})

test('an insert creates a single part even if the time zone of the session is not UTC', async () => {
  const { url, database } = await testDatabase()
  const client = createClient({ url, database, clickhouse_settings: { session_timezone: 'Asia/Tokyo' } })
  onTestFinished(() => client.close())
  const store = tableStore(limitAuditTable, client, { cluster: undefined })
  await store.prepare()
  const change = { subject: 'rule:one', action: 'replace_rule', actor: '1', before: null, after: null } as const
  // The second change is in November in UTC, but in December in Tokyo.
  const rows = [Date.UTC(2026, 10, 30, 12), Date.UTC(2026, 10, 30, 18)].flatMap((at, offset) =>
    limitAuditTable.rowsOf('rule:one', { ...change, at }).map((row) => ({ offset, row })),
  )
  await store.insert({ topic: 'limit-audit', partition: 0, rows })
  const parts = `SELECT toUInt32(count()) AS parts FROM system.parts WHERE table = 'limit_audit' AND database = currentDatabase() AND active`
  expect(await rowsOf(client, parts)).toEqual([{ parts: 1 }])
})
