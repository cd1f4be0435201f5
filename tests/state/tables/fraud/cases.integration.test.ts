import { expect, test } from 'vitest'
import type { FraudCase } from '../../../../schemas/fraud/types.ts'
import { fraudCasesTable, listArchivedCases, readTableCase, readTableCaseOf, readTableCases } from '../../../../state/tables/fraud/cases.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { review } from '../../../pipelines/fraud/case-commands.ts'
import { testDatabase } from '../database.ts'

const NOW = Date.now()

function closedCase(id: string, changes: Partial<FraudCase> = {}): FraudCase {
  return {
    case_id: id,
    version: 2,
    transaction: review({ id: `t${id}` }),
    status: 'CONFIRMED_FRAUD',
    assigned_to: null,
    fraud_type: null,
    notes: 'a\n\nb',
    verdict: 'CONFIRMED_FRAUD',
    verdict_at: NOW,
    created_at: NOW,
    updated_at: NOW,
    resolved_at: NOW,
    is_archived: false,
    history: [],
    ...changes,
  }
}

test('cases are found by id and by transaction, and archived cases are listed, each in its newest version', async () => {
  const { client } = await testDatabase()
  const store = tableStore(fraudCasesTable, client, { cluster: undefined })
  await store.prepare()
  let offset = 0
  async function put(found: FraudCase): Promise<void> {
    const rows = fraudCasesTable.rowsOf(found.transaction.transaction_id, { view: found, result: null })
    await store.insert({ topic: 'fraud-cases', partition: 0, rows: rows.map((row) => ({ offset: offset++, row })) })
  }
  const first = closedCase('9007199254740993')
  const others = [closedCase('9007199254740994', { status: 'FALSE_POSITIVE', assigned_to: 'ann' }), closedCase('9223372036854775807')]
  await put({ ...first, version: 1 })
  for (const found of [first, ...others]) {
    await put(found)
    await put({ ...found, is_archived: true })
  }
  const whole = async (text: Promise<string | undefined>) => JSON.parse((await text) ?? 'null')
  expect(await whole(readTableCase(client, first.case_id))).toEqual({ ...first, is_archived: true })
  expect(await whole(readTableCaseOf(client, first.transaction.transaction_id))).toEqual({ ...first, is_archived: true })
  expect(await whole(readTableCase(client, '1'))).toBeNull()
  expect(await whole(readTableCaseOf(client, 't'))).toBeNull()

  const statuses = ['CONFIRMED_FRAUD', 'FALSE_POSITIVE'] as const
  const list = async (query: Partial<Parameters<typeof listArchivedCases>[1]>) => {
    const { total, ids } = await listArchivedCases(client, { statuses, assignedTo: undefined, count: 10, ...query })
    return [total, ...ids]
  }
  expect(await list({})).toEqual([3, '9223372036854775807', '9007199254740994', '9007199254740993'])
  expect(await list({ count: 1 })).toEqual([3, '9223372036854775807'])
  expect(await list({ statuses: ['FALSE_POSITIVE'] })).toEqual([1, '9007199254740994'])
  expect(await list({ assignedTo: 'ann' })).toEqual([1, '9007199254740994'])
  const wholes = await readTableCases(client, [first.case_id, '1'])
  expect([...wholes].map(([id, text]) => [id, JSON.parse(text)])).toEqual([[first.case_id, { ...first, is_archived: true }]])
  // A later payment has the same transaction id.
  const later = closedCase('9007199254740995', { transaction: first.transaction, version: 1, created_at: NOW + 1 })
  await put(later)
  expect(await whole(readTableCaseOf(client, first.transaction.transaction_id))).toEqual(later)
  // A request has reopened this case.
  await put({ ...first, version: 3 })
  expect(await list({ statuses: ['CONFIRMED_FRAUD'] })).toEqual([1, '9223372036854775807'])
  expect(await whole(readTableCase(client, first.case_id))).toMatchObject({ version: 3, is_archived: false })
})
