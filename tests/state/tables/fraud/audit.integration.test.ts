import { expect, test } from 'vitest'
import { fraudAuditTable, readFraudAudit } from '../../../../state/tables/fraud/audit.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { testDatabase } from '../database.ts'

const AT = Date.now()
const LONG = JSON.stringify('x'.repeat(100))

test('changes are read newest first, for one subject on request, and without texts above the requested maximum size', async () => {
  const { client } = await testDatabase()
  const store = tableStore(fraudAuditTable, client, { cluster: undefined })
  await store.prepare()
  const changes = [
    { subject: 'rule:v', action: 'create_rule', version: 1, before: null, after: '"first"' },
    { subject: 'list:a', action: 'replace_list', version: null, before: LONG, after: '"short"' },
    { subject: 'rule:v', action: 'disable_rule', version: 2, before: '"first"', after: null },
  ]
  const rows = changes.map((change, index) => ({
    offset: index + 8,
    row: fraudAuditTable.rowsOf(change.subject, { ...change, actor: 'olga', at: AT })[0],
  }))
  await store.insert({ topic: 'fraud-audit', partition: 0, rows })
  const query = { subject: undefined, offset: 0, limit: 10, maxTextBytes: 100 }
  const read = (asked: Partial<Parameters<typeof readFraudAudit>[1]>) =>
    readFraudAudit(client as unknown as TableReader, { ...query, ...asked })
  expect(await read({})).toEqual([
    { subject: 'rule:v', action: 'disable_rule', actor: 'olga', at: AT, version: 2, before: '"first"', after: null, is_shortened: false },
    { subject: 'list:a', action: 'replace_list', actor: 'olga', at: AT, version: null, before: null, after: '"short"', is_shortened: true },
    { subject: 'rule:v', action: 'create_rule', actor: 'olga', at: AT, version: 1, before: null, after: '"first"', is_shortened: false },
  ])
  expect((await read({ subject: 'rule:v', offset: 1 })).map(({ action }) => action)).toEqual(['create_rule'])
  expect((await read({ subject: 'list:a', maxTextBytes: 1_000 })).map(({ before, is_shortened }) => [before, is_shortened])).toEqual([
    [LONG, false],
  ])
})
