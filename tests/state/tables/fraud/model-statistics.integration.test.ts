import { expect, test } from 'vitest'
import type { FraudFeedback, TxnScored } from '../../../../schemas/fraud/types.ts'
import { fraudFeaturesTable } from '../../../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../../../state/tables/fraud/feedback.ts'
import { readFeatureCounts, readScoreCounts, sampledHashes } from '../../../../state/tables/fraud/model-statistics.ts'
import { fraudTransactionsTable } from '../../../../state/tables/fraud/transactions.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import type { Table } from '../../../../state/tables/table.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { DAY, featuresAfter, HOUR, pay } from '../../../schemas/fraud/payments.ts'
import { testDatabase } from '../database.ts'

const NOW = Date.now()
const VERSIONS = { account_takeover: '1', payment_fraud: '2', money_laundering: '1' }
const VERDICT: FraudFeedback = {
  transaction_id: 't1',
  case_id: '1',
  verdict: 'CONFIRMED_FRAUD',
  previous_verdict: null,
  previous_at: null,
  fraud_type: null,
  notes: '',
  evidence: [],
  reporter: 'ann',
  at: NOW - HOUR,
  user_id: 'u1',
  device: null,
  ip: null,
  card: null,
  merchant: null,
}

function event(id: string, at: number, amount: number, payment_fraud: number): TxnScored {
  return {
    ...scored(pay({ id, at, amount })),
    features: featuresAfter([], { at, amount }),
    ml_scores: { evaluated: true, account_takeover: 0, payment_fraud, money_laundering: 1 },
    model_versions: VERSIONS,
    scored_at: at,
  }
}

test('scores of the given versions are counted by newest verdict, and feature values are counted in bins derived from earlier days', async () => {
  const { client } = await testDatabase()
  let offset = 0
  async function fill<V>(table: Table<string, V>, values: readonly V[]): Promise<void> {
    const store = tableStore(table, client, { cluster: undefined })
    await store.prepare()
    const rows = values.flatMap((value) => table.rowsOf('key', value)).map((row) => ({ offset: offset++, row }))
    await store.insert({ topic: table.name, partition: 0, rows })
  }
  const before = Array.from({ length: 20 }, (_, index) => event(`b${index}`, NOW - 3 * DAY, index + 1, 0.101))
  const events = [
    ...before,
    event('t1', NOW - 2 * HOUR, 1_000, 0.9),
    event('t2', NOW - 2 * HOUR, 2_000, 0.9),
    // An earlier version of one model scored this transaction.
    { ...event('t4', NOW - 4 * DAY, 10, 0.9), model_versions: { ...VERSIONS, payment_fraud: '1' } },
    event('t3', NOW - 40 * DAY, 5, 0.9),
  ]
  await fill(fraudTransactionsTable, events)
  await fill(fraudFeaturesTable, events.slice(0, -2))
  await fill(fraudFeedbackTable, [
    VERDICT,
    { ...VERDICT, transaction_id: 't2' },
    { ...VERDICT, transaction_id: 't2', verdict: 'FALSE_POSITIVE', at: NOW },
    { ...VERDICT, transaction_id: 'b0', verdict: 'SUSPICIOUS' },
    { ...VERDICT, transaction_id: 'b1' },
    { ...VERDICT, transaction_id: 'b1', verdict: 'SUSPICIOUS', at: NOW },
  ])
  const most = await sampledHashes(client)
  const scores = await readScoreCounts(client, most, VERSIONS)
  expect(scores.filter(({ model }) => model === 'payment_fraud')).toEqual([
    { model: 'payment_fraud', score: expect.closeTo(0.101, 9), frauds: 0, normal: 20 },
    { model: 'payment_fraud', score: expect.closeTo(0.9, 9), frauds: 1, normal: 1 },
  ])
  expect(scores.filter(({ model }) => model === 'money_laundering')).toEqual([
    { model: 'money_laundering', score: 1, frauds: 1, normal: 22 },
  ])
  const features = await readFeatureCounts(client, most)
  const amounts = features.find(({ feature }) => feature === 'amount_usd')!
  expect(amounts.before.slice(0, -1)).toEqual(Array.from({ length: 10 }, () => 2))
  expect(amounts.now).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0])
  expect(features.find(({ feature }) => feature === 'geo_distance_km')!.now.at(-1)).toBe(2)
})
