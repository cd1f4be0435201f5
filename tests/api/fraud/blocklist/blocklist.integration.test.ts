import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type OpenBlocklist, openBlocklist } from '../../../../api/fraud/blocklist/in-force.ts'
import { ensureDevelopmentKey, mintToken } from '../../../../api/kit/auth/development-key.ts'
import { apiTransport } from '../../../../api/kit/kafka.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { packedTableOpener } from '../../../../api/kit/packed/open.ts'
import type { Component } from '../../../../deploy/local/component.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { registryClient } from '../../../../kafka/registry.ts'
import { fraudServices } from '../../../../pipelines/fraud/service.ts'
import { fraudSchemas } from '../../../../schemas/fraud/topics.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { provisionService } from '../../../stack/provision.ts'
import { newKafka, newRedis, newRegistry } from '../../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../../api-process.ts'
import { startWorkerProcess } from '../../worker-process.ts'
import { requestOf } from './entries.ts'

const SETUP_TIMEOUT_MS = 180_000
const READY = { timeoutMs: 90_000, intervalMs: 50 }
const SOON = { timeout: 60_000, interval: 5 }
/**
 * The contract's limit for a change to reach other instances, counted from the response to the request that made the
 * change. The median is a few milliseconds even on a busy machine, so the margin is wide.
 */
const ENFORCED_WITHIN_MS = 1_000
const CHANGES = 15
const folder = guardedFolder()
const log = createLogger('silent')
let kafka: Component
let registry: Component
let api: ApiProcess
let authorization: string

beforeAll(async () => {
  kafka = await newKafka(folder.path)
  const redis = await newRedis(folder.path)
  registry = await newRegistry(folder.path, kafka.address)
  await Promise.all([kafka.start(), redis.start()])
  await registry.start()
  await provisionService(kafka.address, registry.address, [fraudSchemas], fraudServices)
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    // No server listens at this address, because the blocklist does not need ClickHouse.
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    API_SERVICES: 'fraud',
    PIPELINES: 'fraud-blocklist',
  }
  const worker = await startWorkerProcess(folder.path, env)
  api = await startApiProcess(folder.path, env)
  await waitUntil(worker.isReady, { what: 'the worker', ...READY })
  const claims = { subject: 'ann', scope: 'fraud:analyst', username: undefined, issuer: 'millrace', audience: 'millrace' }
  const key = await ensureDevelopmentKey(folder.path)
  authorization = `Bearer ${await mintToken(key, { ...claims, lifetimeSeconds: 3_600, now: Date.now() })}`
  // The pipelines of other parts of the service are not running, so the process as a whole never becomes ready.
  await waitUntil(async () => (await ask('GET', '')).status === 200, { what: 'the blocklist', ...READY })
}, SETUP_TIMEOUT_MS)

afterAll(() => folder.finish(), SETUP_TIMEOUT_MS)

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${api.url}/api/v1/blocklist${path}`, {
    method,
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** Opens the blocklist with a separate transport and folder, like another instance. */
async function reader(name: string): Promise<OpenBlocklist> {
  const transport = apiTransport({ brokers: [kafka.address], log })
  const packedTables = packedTableOpener({
    transport,
    registry: registryClient({ url: registry.address }),
    folder: join(folder.path, name),
    metrics: new Registry(),
    log,
    now: Date.now,
    monotonic: () => performance.now(),
  })
  const blocklist = await openBlocklist({ packedTables })
  onTestFinished(async () => {
    await blocklist.close()
    await transport.close()
  })
  await expect.poll(() => blocklist.probes[0].check(), SOON).toBeUndefined()
  return blocklist
}

test('other instances enforce a change within a second of its response, and without Kafka no change is confirmed', async () => {
  const readers = await Promise.all(['one', 'two'].map(reader))
  const delays: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    const request = requestOf({ device: `d${change}` })
    const created = await ask('POST', '', { entity_type: 'DEVICE', entity_value: `d${change}`, reason: 'test' })
    const answeredAt = performance.now()
    expect(created.status).toBe(201)
    for (const { find } of readers) await expect.poll(() => find(request), SOON).toBe('DEVICE')
    delays.push(performance.now() - answeredAt)
    expect((await ask('DELETE', `/${created.body.entry_id}`)).status).toBe(204)
    for (const { find } of readers) await expect.poll(() => find(request), SOON).toBeUndefined()
  }
  // Checks the median, because a busy machine may delay single requests.
  expect(delays.sort((one, other) => one - other)[CHANGES >> 1]).toBeLessThan(ENFORCED_WITHIN_MS)

  const many = Array.from({ length: 1_000 }, (_, index) => ({ entity_type: 'USER', entity_value: `u${index}`, reason: 'test' }))
  const bulk = await ask('POST', '/bulk', { entries: many })
  expect([bulk.status, bulk.body.results.filter(({ status }: { status: string }) => status === 'created').length]).toEqual([200, 1_000])
  for (const { find } of readers) await expect.poll(() => find(requestOf({ user: 'u999' })), SOON).toBe('USER')

  await kafka.stop()
  expect(await ask('POST', '', { entity_type: 'USER', entity_value: 'late', reason: 'test' })).toMatchObject({
    status: 503,
    body: { error: 'unavailable', command_id: expect.any(String) },
  })
  await expect.poll(() => readers.map(({ isStale }) => isStale), SOON).toEqual([true, true])
  expect(readers.map(({ find }) => find(requestOf({ user: 'u1' })))).toEqual(['USER', 'USER'])
  await kafka.start()
  await expect.poll(() => readers.map(({ isStale }) => isStale), SOON).toEqual([false, false])
})
