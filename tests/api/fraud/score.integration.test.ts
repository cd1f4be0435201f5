import { beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { type FraudSystem, fraudSystem, payment } from './system.ts'

const SOON = { timeoutMs: 30_000, intervalMs: 100 }

let system: FraudSystem

beforeAll(async () => {
  system = await fraudSystem()
})

test('payments at the same moment see each other, each once', async () => {
  const now = new Date().toISOString()
  const ids = Array.from({ length: 6 }, (_, index) => `t${index + 1}`)
  const answers = await Promise.all(ids.map((id) => system.ask('POST', 'transactions/score', { body: payment(id, { timestamp: now }) })))
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200))
  expect(answers[0].body).toMatchObject({ decision: 'APPROVE', degraded: ['models'], reason: 'no_risk_found' })
  const velocities = await Promise.all(
    ids.map(async (id) => (await system.ask('GET', `transactions/${id}`)).body.features.user_velocity_1h),
  )
  expect(velocities.sort()).toEqual([0, 1, 2, 3, 4, 5])
})

test('a profile has all transactions, before and after the pipeline has counted them', async () => {
  const profile = () => system.ask('GET', 'profiles/user/u1')
  expect((await profile()).body).toMatchObject({ lifetime_txn_count: 6, txn_count_1h: 6, txn_sum_24h: 120, risk_tier: 'NORMAL' })
  await waitUntil(async () => (await flying()).length === 0, { what: 'the pipeline', ...SOON })
  expect((await profile()).body).toMatchObject({ lifetime_txn_count: 6, txn_count_1h: 6, txn_sum_24h: 120, avg_txn_amount: 20 })
})

async function flying(): Promise<string[]> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(system.redis.address)
  const keys = await redis.keys('*:flight:*')
  redis.disconnect()
  return keys
}
