import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFailed, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { fraudServices } from '../../../../pipelines/fraud/service.ts'
import { fraudSchemas } from '../../../../schemas/fraud/topics.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { provisionService } from '../../../stack/provision.ts'
import { newKafka, newRedis, newRegistry } from '../../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../../api-process.ts'
import { bearer } from '../../development-token.ts'
import { startWorkerProcess } from '../../worker-process.ts'

const READY = { timeoutMs: 90_000, intervalMs: 50 }
const SOON = { timeout: 30_000, interval: 50 }
/**
 * Time within which a change must reach every API, according to the service's contract. A change normally takes only a
 * few milliseconds, so the margin is wide.
 */
const IN_FORCE = { timeout: 10_000, interval: 50 }
/** How many of the worker's last log lines are printed when the test fails. */
const LAST_LINES = 60
const RULE = { rule_id: 'v', name: 'v', condition: 'txn.amount > 1', action: 'REVIEW', priority: 1 }

/** Starts servers, a worker with the pipelines of settings and of records, and two API processes. */
async function settingsSystem() {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const redis = await newRedis(folder.path)
  const registry = await newRegistry(folder.path, kafka.address)
  await Promise.all([kafka.start(), redis.start()])
  await registry.start()
  await provisionService(kafka.address, registry.address, [fraudSchemas], fraudServices)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('fraud').replaceAll('-', '_')
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'fraud',
    PIPELINES: 'fraud-settings,fraud-records',
  }
  const worker = await startWorkerProcess(folder.path, env)
  onTestFailed(() => {
    const said = worker.lines.slice(-LAST_LINES).map((line) => JSON.stringify(line))
    process.stderr.write(`the last log lines of the worker (exit code ${worker.child.exitCode}):\n${said.join('\n')}\n`)
  })
  const apis = await Promise.all([0, 1].map(() => startApiProcess(folder.path, env)))
  await waitUntil(worker.isReady, { what: 'the worker', ...READY })
  const authorized = await bearer(folder.path, 'olga', 'fraud:ops internal')

  async function send(api: ApiProcess, method: string, path: string, body?: unknown, idempotencyKey?: string) {
    const headers = {
      ...authorized,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    }
    const response = await fetch(`${api.url}/api/v1/${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  function sendPayment(api: ApiProcess, id: string) {
    const given = { amount: 20, currency: 'USD', transaction_type: 'PURCHASE', payer: { user_id: 'u1' } }
    return send(api, 'POST', 'transactions/score', { transaction_id: id, timestamp: new Date().toISOString(), ...given })
  }

  /**
   * Scores a transaction.
   * @returns the rules that matched, and the unavailable parts
   */
  async function score(api: ApiProcess, id: string): Promise<{ rules: string[]; degraded: string[] }> {
    const { status, body } = await sendPayment(api, id)
    expect(status, JSON.stringify(body)).toBe(200)
    return { rules: body.triggered_rules, degraded: body.degraded }
  }

  for (const api of apis) await expect.poll(async () => (await send(api, 'GET', 'rules')).status, SOON).toBe(200)
  return { folder, kafka, apis, env, send, sendPayment, score, snapshot: join(folder.path, 'data', 'tables', 'fraud-rulesets.snapshot') }
}

test('a change reaches every API within 10 seconds, and an API that starts without Kafka becomes ready and scores with the last rules', async () => {
  const { folder, kafka, apis, env, send, sendPayment, score, snapshot } = await settingsSystem()
  const [one, other] = apis
  expect(
    (await send(one, 'POST', 'lists', { name: 'big', values: Array.from({ length: 10_000 }, (_, index) => `${index}`.padEnd(100, 'x')) }))
      .status,
  ).toBe(201)
  expect((await send(one, 'POST', 'rules', RULE)).status).toBe(201)
  expect((await score(one, 't1')).rules).toContain('v')
  await expect.poll(async () => (await send(other, 'GET', 'rules')).body.ruleset_version, IN_FORCE).toBe(1)
  expect((await score(other, 't2')).rules).toContain('v')

  expect((await send(other, 'DELETE', 'rules/v')).status).toBe(204)
  await expect.poll(async () => (await score(one, `t3-${performance.now()}`)).rules, SOON).not.toContain('v')
  expect((await send(other, 'POST', 'rules/rollback', { version: 1 })).body).toEqual({ ruleset_version: 3 })
  expect((await send(one, 'GET', 'rules/versions/2')).body.rules.find(({ rule_id }: { rule_id: string }) => rule_id === 'v').enabled).toBe(
    false,
  )
  await expect.poll(async () => (await send(one, 'GET', 'rules/audit')).body.changes?.length, SOON).toBe(4)
  expect((await send(one, 'GET', 'rules/audit')).body.changes.map(({ action, actor }: Record<string, string>) => [action, actor])).toEqual([
    ['roll_back_rules', 'olga'],
    ['disable_rule', 'olga'],
    ['create_rule', 'olga'],
    ['create_list', 'olga'],
  ])

  const hasVersion = () => existsSync(snapshot) && readFileSync(snapshot, 'utf8').includes('roll_back_rules')
  await expect.poll(hasVersion, SOON).toBe(true)
  await kafka.stop()
  await expect.poll(async () => (await score(one, `t4-${performance.now()}`)).degraded, SOON).toContain('rules')
  for (const api of apis) api.child.kill('SIGKILL')

  const third = await startApiProcess(folder.path, env)
  expect((await send(third, 'GET', 'rules')).status).toBe(503)
  await expect.poll(async () => (await send(third, 'GET', 'rules')).status, SOON).toBe(200)
  expect((await send(third, 'GET', 'rules')).body.ruleset_version).toBe(3)
  expect((await send(third, 'GET', 'lists')).body.lists).toMatchObject([{ name: 'big', count: 10_000 }])
  // The API uses the snapshot of the rules before it uses the snapshot of the blocklist, and scoring needs both.
  await expect.poll(async () => (await sendPayment(third, `t5-${performance.now()}`)).status, SOON).toBe(200)
  await expect.poll(async () => (await fetch(`${third.url}/readyz`)).status, SOON).toBe(200)
  const scored = await score(third, 't5')
  expect([scored.rules.includes('v'), scored.degraded.includes('rules')]).toEqual([true, true])
  expect((await send(third, 'POST', 'rules', { ...RULE, rule_id: 'w' })).status).toBe(503)

  await kafka.start()
  await expect.poll(async () => (await score(third, `t6-${performance.now()}`)).degraded, SOON).not.toContain('rules')
  // A request may be executed although its response is a 503. All attempts have the same key, so that a later attempt
  // still gets a 201.
  const create = () => send(third, 'POST', 'rules', { ...RULE, rule_id: 'w' }, 'create-w')
  await expect.poll(async () => (await create()).status, SOON).toBe(201)
  expect((await send(third, 'GET', 'rules/w')).status).toBe(200)
})
