import { createClient } from '@clickhouse/client'
import { expect, onTestFinished, test } from 'vitest'
import type { TxnScored } from '../../../../schemas/fraud/types.ts'
import { fraudFeaturesTable } from '../../../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../../../state/tables/fraud/feedback.ts'
import { openLoggedTransactions } from '../../../../state/tables/fraud/logged.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { DAY, pay } from '../../../schemas/fraud/payments.ts'
import { testDatabase } from '../database.ts'

const DAYS = 12
const PER_DAY = 3
const FIRST_DAY = Math.floor(Date.now() / DAY) * DAY - (DAYS - 1) * DAY
/** Limit for what a query reads, in bytes: enough for the rows of one day, but not for all columns of 12 days. */
const MAX_READ_BYTES = 20_000

function answer(id: string, at: number): TxnScored {
  return { ...scored(pay({ id, at })), scored_at: at }
}

test('the query for a batch of one day reads only this day, and a transaction that was scored on several days counts on the first day', async () => {
  const { url, database, client } = await testDatabase()
  const features = tableStore(fraudFeaturesTable, client, { cluster: undefined })
  await features.prepare()
  await tableStore(fraudFeedbackTable, client, { cluster: undefined }).prepare()
  for (let day = 0; day < DAYS; day++) {
    const at = FIRST_DAY + day * DAY
    const events = Array.from({ length: PER_DAY }, (_, index) => answer(`t${day}-${index}`, at + index))
    if (day === 3 || day === 4 || day === 8) events.push(answer('repeated', at + 1_000))
    const rows = events.flatMap((event) => fraudFeaturesTable.rowsOf('key', event)).map((row, index) => ({ offset: 10 * day + index, row }))
    await features.insert({ topic: 'txn.scored', partition: 0, rows })
  }

  const limited = createClient({ url, database, clickhouse_settings: { max_bytes_to_read: String(MAX_READ_BYTES) } })
  onTestFinished(() => limited.close())
  const log = openLoggedTransactions(limited)
  async function found(from: number): Promise<Map<string, number>> {
    const { batches } = await log.sample({ from, to: FIRST_DAY + DAYS * DAY, limit: 1_000 })
    const all: [id: string, at: number][] = []
    for await (const batch of batches) for (const { request, scored_at } of batch) all.push([request.transaction_id, scored_at])
    const byId = new Map(all)
    expect(byId.size).toBe(all.length)
    return byId
  }
  const all = await found(FIRST_DAY)
  expect(all.size).toBe(DAYS * PER_DAY + 1)
  expect(all.get('repeated')).toBe(FIRST_DAY + 3 * DAY + 1_000)
  const later = await found(FIRST_DAY + 4 * DAY)
  expect(later.size).toBe((DAYS - 4) * PER_DAY)
  expect(later.has('repeated')).toBe(false)
})
