import { expect, test } from 'vitest'
import { profileFromBytes } from '../../../../schemas/fraud/profile/bytes.ts'
import type { TxnScored } from '../../../../schemas/fraud/types.ts'
import { profileKeys } from '../../../../state/views/fraud/profiles.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { pay } from '../../../schemas/fraud/payments.ts'
import { casesSystem } from './system.ts'

const SOON = { timeout: 60_000, interval: 50 }

test('a transaction with the decision REVIEW becomes a case, and the verdict reaches the table and the profile of the user', async () => {
  const { log, ask, redis, rowsOf } = await casesSystem()
  const event: TxnScored = { ...scored(pay({ id: 't1', user: 'u1', at: Date.now() })), decision: 'REVIEW', triggered_rules: ['v'] }
  const approved = scored(pay({ id: 't2', user: 'u2', at: Date.now() }))
  // The log may contain a transaction twice.
  await log(event, approved, event)

  await expect.poll(async () => (await ask('GET', 'cases')).body.total, SOON).toBe(1)
  const { body: list } = await ask('GET', 'cases')
  const { case_id } = list.cases[0]
  expect(list.cases).toMatchObject([{ transaction_id: 't1', user_id: 'u1', status: 'OPEN', triggered_rules: ['v'] }])
  expect((await ask('PATCH', `cases/${case_id}`, { status: 'IN_REVIEW', assigned_to: 'ann' })).status).toBe(200)

  const verdict = { verdict: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card', notes: 'not the user' }
  expect(await ask('POST', 'transactions/t1/feedback', verdict)).toEqual({
    status: 200,
    body: { status: 'recorded', case_id, version: expect.any(Number) },
  })
  expect((await ask('GET', 'cases?status=CONFIRMED_FRAUD')).body.cases).toMatchObject([{ case_id, assigned_to: 'ann' }])
  const profile = async (user: string) => {
    const bytes = await redis.getBuffer(profileKeys(0, `user:${user}`).profile)
    return bytes === null ? undefined : profileFromBytes(bytes)
  }
  await expect.poll(async () => (await profile('u1'))?.tier, SOON).toBe('HIGH')
  expect(await profile('u1')).toMatchObject({ fraud_count: 1, txn_count: 1 })

  // ClickHouse has the approved transaction, so feedback about it creates a case.
  await expect.poll(async () => (await rowsOf('SELECT 1 FROM fraud_transactions')).length, SOON).toBeGreaterThanOrEqual(2)
  const late = await ask('POST', 'transactions/t2/feedback', { verdict: 'SUSPICIOUS' })
  expect(late.status).toBe(200)
  expect((await ask('GET', `cases/${late.body.case_id}`)).body).toMatchObject({
    transaction_id: 't2',
    status: 'ESCALATED',
    decision: 'APPROVE',
  })
  expect(await ask('POST', 'transactions/t3/feedback', verdict)).toMatchObject({ status: 404, body: { error: 'transaction_not_found' } })

  const tables = () =>
    rowsOf(`
SELECT transaction_id, decision, verdict, status
FROM fraud_transactions AS t FINAL
LEFT JOIN (SELECT transaction_id, argMax(verdict, at) AS verdict FROM fraud_feedback FINAL GROUP BY transaction_id) AS f USING transaction_id
LEFT JOIN (SELECT transaction_id, status FROM fraud_cases FINAL) AS c USING transaction_id
ORDER BY transaction_id`)
  await expect.poll(tables, SOON).toEqual([
    { transaction_id: 't1', decision: 'REVIEW', verdict: 'CONFIRMED_FRAUD', status: 'CONFIRMED_FRAUD' },
    { transaction_id: 't2', decision: 'APPROVE', verdict: 'SUSPICIOUS', status: 'ESCALATED' },
  ])
})
