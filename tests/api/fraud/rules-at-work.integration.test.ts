import { beforeEach, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { testStack } from '../../stack/index.ts'
import { type FraudSystem, fraudSystem, payment } from './system.ts'

const SOON = { timeoutMs: 60_000, intervalMs: 200 }
const MINUTE_MS = 60_000
const BLOCKED = 20
const APPROVED = 1_000
/** Number of concurrent requests. It is low, so that each response arrives in time even on a busy machine. */
const AT_ONCE = 20

const RULE = { rule_id: 'high', name: 'High amounts', condition: 'txn.amount > 500', action: 'BLOCK', priority: -1 }

let system: FraudSystem

// Each try needs its own system, because in the system of a failed try, payments have been scored already and the guard
// may have acted.
beforeEach(async () => {
  system = await fraudSystem({ apiCount: 2, registry: await testStack().registry(), env: { FRAUD_GUARD: '1' } })
  expect((await system.ask('POST', 'rules', { body: RULE })).status).toBe(201)
  const isKnown = async (api: number) => (await system.ask('GET', 'rules/high', { api })).status === 200
  for (const api of [0, 1]) await waitUntil(() => isKnown(api), { what: 'the rule', ...SOON })
})

/** Scores payments with the same amount by different users, alternately through the two API processes. */
async function pay(prefix: string, count: number, amount: number): Promise<void> {
  for (let first = 0; first < count; first += AT_ONCE) {
    const payments = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => {
      const id = `${prefix}${first + index}`
      const body = payment(id, { amount, payer: { user_id: `u-${id}` }, device: { fingerprint_id: `d-${id}` } })
      return system.ask('POST', 'transactions/score', { body, api: index % 2 })
    })
    for (const { status } of await Promise.all(payments)) expect(status).toBe(200)
  }
}

test('statistics and a back-test on any API process cover the payments of all processes, and a rule that blocks too many payments is moved to shadow mode', async () => {
  const from = new Date(Date.now() - MINUTE_MS).toISOString()
  await pay('low', APPROVED, 20)
  // The amount is below 1,000 USD, because from 1,000 USD on, a payment is sent to review if the user's profile arrives
  // too late.
  await pay('high', BLOCKED, 900)

  const shadowed = async () => (await system.ask('GET', 'rules/high', { api: 1 })).body.mode === 'shadow'
  await waitUntil(shadowed, { what: 'the guard', ...SOON })
  await waitUntil(async () => (await readiness()).includes('fraud blocks'), { what: 'the alert', ...SOON })
  const audited = async () => {
    const { changes } = (await system.ask('GET', 'rules/audit?subject=rule:high')).body
    return changes?.map(({ action, actor }: Record<string, string>) => [action, actor])
  }
  await expect.poll(audited, { timeout: SOON.timeoutMs, interval: SOON.intervalMs }).toEqual([
    ['shadow_rule', 'fraud-guard'],
    ['create_rule', 'analyst-1'],
  ])

  const stats = async () => (await system.ask('GET', 'rules/high/stats', { api: 1 })).body
  await waitUntil(async () => (await stats()).live?.evaluated === APPROVED + BLOCKED, { what: 'the statistics', ...SOON })
  expect((await stats()).live).toMatchObject({ matched: BLOCKED, decided: BLOCKED, failed: 0, missing: 0 })
  expect((await system.ask('GET', 'rules/unknown/stats')).body.error).toBe('rule_not_found')

  const period = { from, to: new Date(Date.now() + MINUTE_MS).toISOString() }
  const tested = async (body: object) => {
    const started = await system.ask('POST', 'rules/backtest', { body: { ...period, ...body } })
    expect(started.status).toBe(202)
    const job = async () => (await system.ask('GET', `rules/backtest/${started.body.job_id}`, { api: 1 })).body
    await waitUntil(async () => (await job()).status !== 'running', { what: 'the back-test', ...SOON })
    return await job()
  }
  const isLogged = async () => (await tested({ rules: [RULE] })).report.transactions === APPROVED + BLOCKED
  await waitUntil(isLogged, { what: 'the log', ...SOON })
  expect(await tested({ rule: RULE })).toMatchObject({ status: 'done', report: { changed: 0, would_be: { block: BLOCKED } } })
  // The guard has moved the rule to shadow mode, so the rules in force no longer block.
  const now = await tested({})
  expect(now.report).toMatchObject({ changed: BLOCKED, would_be: { block: 0 }, logged: { block: BLOCKED } })
  expect(now.report.changes).toMatchObject([{ logged: 'BLOCK', would_be: 'APPROVE', count: BLOCKED }])
  expect(now.report.rules.find(({ rule_id }: { rule_id: string }) => rule_id === 'high')).toMatchObject({
    mode: 'shadow',
    matched: BLOCKED,
  })

  const wrong = await system.ask('POST', 'rules/backtest', { body: { ...period, rule: { ...RULE, condition: 'txn.amonut > 1' } } })
  expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_condition'])
  expect(wrong.body.details[0]).toMatchObject({ path: 'body.rule.condition', column: 1, nearest: 'txn.amount' })
  expect((await system.ask('GET', 'rules/backtest/unknown')).body.error).toBe('backtest_not_found')
})

async function readiness(): Promise<string> {
  return await (await fetch(`${system.apis[0].url}/readyz`)).text()
}
