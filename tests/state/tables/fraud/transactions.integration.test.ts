import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { FraudFeedback, TxnScored } from '../../../../schemas/fraud/types.ts'
import { fraudFeaturesTable, SCORED_SELECTION, scoredOf } from '../../../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../../../state/tables/fraud/feedback.ts'
import { readReviewed, readTransaction } from '../../../../state/tables/fraud/read-transaction.ts'
import { fraudTransactionsTable } from '../../../../state/tables/fraud/transactions.ts'
import { readUserTransactions } from '../../../../state/tables/fraud/user-transactions.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import type { Table } from '../../../../state/tables/table.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { featuresAfter, HOUR, MINUTE, pay } from '../../../schemas/fraud/payments.ts'
import { rowsOf, testDatabase } from '../database.ts'

const ONE_SERVER = { cluster: undefined }
const NOW = Math.floor(Date.now() / HOUR) * HOUR
const DAY = 24 * HOUR

const EVENT: TxnScored = {
  ...scored({ ...pay({ id: 't1', at: NOW, device: 'd', ip: '192.0.2.1', card: 'c', merchant: 'm', place: [1.5, -2] }), amount: 12.34 }),
  ip: { geo_country: 'DE', is_vpn: true, is_tor: false, is_datacenter: null },
  features: featuresAfter([pay({ at: NOW - MINUTE, place: [50, 8] }), pay({ at: NOW - HOUR, amount: 3 })], { at: NOW, place: [1.5, -2] }),
  decision: 'REVIEW',
  risk_score: 612,
  risk_level: 'HIGH',
  reason: 'rule',
  requires_3ds: true,
  triggered_rules: ['a', 'b\n\nc'],
  shadow_rules: ['s'],
  ml_scores: { evaluated: true, account_takeover: 0.25, payment_fraud: 0.5, money_laundering: 0.125 },
  challenger_scores: { evaluated: true, account_takeover: 0.5, payment_fraud: 0.75, money_laundering: 0 },
  risk_factors: [{ factor: 'amount_zscore', contribution: 0.5 }],
  degraded: ['profiles'],
  ruleset_version: 7,
  policy_version: 2,
  model_versions: { payment_fraud: 'v1' },
  request_id: 'req-1',
  scored_at: NOW + 5,
}

const VERDICT: FraudFeedback = {
  transaction_id: 't1',
  case_id: '9223372036854775807',
  verdict: 'CONFIRMED_FRAUD',
  previous_verdict: null,
  previous_at: null,
  fraud_type: 'stolen_card',
  notes: 'called the user\n\nDROP',
  evidence: ['photo'],
  reporter: 'ann',
  at: NOW + MINUTE,
  user_id: 'u1',
  device: null,
  ip: null,
  card: null,
  merchant: null,
}

async function world() {
  const { client } = await testDatabase()
  let offset = 0
  async function fill<V>(table: Table<string, V>, ...values: readonly V[]): Promise<void> {
    const store = tableStore(table, client, ONE_SERVER)
    await store.prepare()
    for (const value of values) {
      await store.insert({ topic: table.name, partition: 0, rows: table.rowsOf('key', value).map((row) => ({ offset: offset++, row })) })
    }
  }
  const score = async (...events: readonly TxnScored[]) => {
    await fill(fraudTransactionsTable, ...events)
    await fill(fraudFeaturesTable, ...events)
  }
  return { client, score, judge: (...verdicts: readonly FraudFeedback[]) => fill(fraudFeedbackTable, ...verdicts) }
}

test('a transaction is returned with its complete scoring event and its newest verdict', async () => {
  const { client, score, judge } = await world()
  await judge()
  await score(EVENT)
  expect(await readTransaction(client, 't1')).toEqual({ scored: EVENT, feedback: null })
  await judge(VERDICT, {
    ...VERDICT,
    verdict: 'FALSE_POSITIVE',
    previous_verdict: 'CONFIRMED_FRAUD',
    previous_at: VERDICT.at,
    at: VERDICT.at + 1,
  })
  const { case_id, fraud_type, notes, evidence, reporter, at } = VERDICT
  expect(await readTransaction(client, 't1')).toEqual({
    scored: EVENT,
    feedback: { case_id, verdict: 'FALSE_POSITIVE', fraud_type, notes, evidence, reporter, at: at + 1 },
  })
  expect(await readTransaction(client, 't2')).toBeUndefined()
})

test('a transaction is returned even if it has no optional values, or if its features have expired', async () => {
  const { client, score, judge } = await world()
  await judge()
  const plain = { ...scored(pay({ id: 't1', at: NOW })), reason: null }
  await score(plain)
  expect((await readTransaction(client, 't1'))?.scored).toEqual(plain)
  await client.command({ query: 'TRUNCATE TABLE fraud_features' })
  expect((await readTransaction(client, 't1'))?.scored).toEqual({ ...plain, features: null })
})

test('if an answer is repeated, the first one counts, even if the repetition is on another day', async () => {
  const { client, score, judge } = await world()
  await judge()
  await score({ ...EVENT, decision: 'BLOCK', scored_at: NOW + DAY }, EVENT, { ...EVENT, decision: 'APPROVE', scored_at: NOW + 6 })
  expect((await readTransaction(client, 't1'))?.scored).toEqual(EVENT)
  const { request, decision, risk_score, triggered_rules, risk_factors, scored_at } = EVENT
  expect(await readReviewed(client, 't1')).toEqual({ request, decision, risk_score, triggered_rules, risk_factors, scored_at })
  expect(await readReviewed(client, 't2')).toBeUndefined()
  for (const table of ['fraud_transactions', 'fraud_features']) {
    expect(await rowsOf(client, `SELECT decision FROM ${table} FINAL`)).toEqual([{ decision: 'REVIEW' }])
    await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
    expect(await rowsOf(client, `SELECT decision FROM ${table} FINAL`)).toEqual([{ decision: 'REVIEW' }])
  }
})

test('the features table returns complete events', async () => {
  const { client, score } = await world()
  await score(EVENT)
  const result = await client.query({
    query: `SELECT ${SCORED_SELECTION} FROM fraud_features FINAL`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  })
  const [row] = await result.json<Parameters<typeof scoredOf>[0]>()
  expect(scoredOf(row)).toEqual(EVENT)
})

test('a features table from before a feature existed gets a column for this feature', async () => {
  const { client, score } = await world()
  await tableStore(
    { ...fraudFeaturesTable, columns: fraudFeaturesTable.columns.filter((column) => !column.startsWith('amount_zscore ')), migrations: [] },
    client,
    ONE_SERVER,
  ).prepare()
  await score(EVENT)
  expect(await rowsOf(client, 'SELECT amount_zscore FROM fraud_features')).toEqual([{ amount_zscore: EVENT.features.amount_zscore }])
})

test('analysts can query the results of shadow rules and challengers', async () => {
  const { client, score } = await world()
  await score(EVENT, { ...scored(pay({ id: 't2', at: NOW })) })
  expect(await rowsOf(client, 'SELECT transaction_id, shadow_rules, challenger_payment_fraud FROM fraud_shadow')).toEqual([
    { transaction_id: 't1', shadow_rules: ['s'], challenger_payment_fraud: 0.75 },
  ])
})

test('the documented query for one day reads only this day, and counts a repeated answer on the day of the repetition', async () => {
  const { client, score } = await world()
  const yesterday = NOW - DAY
  const event = (id: string, scored_at: number) => ({ ...scored(pay({ id, at: scored_at })), scored_at })
  await score(event('before', yesterday - DAY), event('first', yesterday), event('before', yesterday), event('today', NOW))
  const page = readFileSync(new URL('../../../../docs/services/fraud.md', import.meta.url), 'utf8')
  const query = /```sql\n(SELECT decision, [^`]*)```/.exec(page)![1]
  const counts = async (text: string) => {
    const answer = await client.query({ query: text, format: 'JSON' })
    const { data, statistics } = await answer.json<{ transactions: string; usd: number }>()
    return { read: statistics?.rows_read, transactions: Number(data[0].transactions), usd: data[0].usd }
  }
  expect(await counts(query)).toEqual({ read: 2, transactions: 2, usd: 2 })
  expect(await counts(query.replace(/SETTINGS.*/, ''))).toEqual({ read: 4, transactions: 1, usd: 1 })
})

test('the documented query returns the features of the week before last with their labels', async () => {
  const { client, score, judge } = await world()
  const scoredAt = NOW - 10 * DAY
  const event = (id: string, scored_at = scoredAt) => ({ ...scored(pay({ id, at: scored_at })), scored_at })
  const verdict = (transaction_id: string, given: FraudFeedback['verdict'], at = NOW) => ({
    ...VERDICT,
    transaction_id,
    verdict: given,
    at,
  })
  await score(event('fraud'), event('unknown'), event('corrected'), event('suspicious'), event('young', NOW))
  await judge(verdict('fraud', 'CONFIRMED_FRAUD'), verdict('corrected', 'CONFIRMED_FRAUD'), verdict('corrected', 'FALSE_POSITIVE', NOW + 1))
  await judge(verdict('suspicious', 'SUSPICIOUS'))
  const page = readFileSync(new URL('../../../../docs/services/fraud.md', import.meta.url), 'utf8')
  const query = /```sql\n([^`]*FROM fraud_features[^`]*)```/.exec(page)?.[1]
  expect(await rowsOf(client, `SELECT transaction_id, is_fraud, amount_usd FROM (${query}) ORDER BY transaction_id`)).toEqual([
    { transaction_id: 'corrected', is_fraud: 0, amount_usd: 1 },
    { transaction_id: 'fraud', is_fraud: 1, amount_usd: 1 },
    { transaction_id: 'unknown', is_fraud: 0, amount_usd: 1 },
  ])
})

test("a user's transactions of a period are returned newest first, each with its first answer", async () => {
  const { client, score } = await world()
  const payment = (id: string, user: string, at: number) => ({ ...scored(pay({ id, user, at })), scored_at: at + 5 })
  const own = [payment('old', 'u9', NOW - 8 * DAY), payment('first', 'u9', NOW - DAY), payment('second', 'u9', NOW - HOUR)]
  const again = { ...payment('second', 'u9', NOW - HOUR), decision: 'BLOCK' as const, scored_at: NOW }
  await score(...own, again, payment('of another', 'u8', NOW - HOUR), payment('at the end', 'u9', NOW))
  const found = await readUserTransactions(client, { userId: 'u9', from: NOW - 7 * DAY, to: NOW, limit: 10 })
  expect(found.map(({ transaction_id, timestamp, decision }) => [transaction_id, timestamp, decision])).toEqual([
    ['second', NOW - HOUR, own[2].decision],
    ['first', NOW - DAY, own[1].decision],
  ])
  await score({ ...EVENT, request: { ...EVENT.request, payer: { ...EVENT.request.payer, user_id: 'u7' } } })
  const [full] = await readUserTransactions(client, { userId: 'u7', from: NOW - DAY, to: NOW + DAY, limit: 10 })
  expect(full).toMatchObject({ amount: 12.34, merchant_id: 'm', device_fp: 'd', place: { lat: 1.5, lng: -2 }, risk_score: 612 })
  expect(await readUserTransactions(client, { userId: 'u9', from: NOW - 7 * DAY, to: NOW, limit: 1 })).toHaveLength(1)
})
