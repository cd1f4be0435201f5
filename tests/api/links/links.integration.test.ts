import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Component } from '../../../deploy/local/component.ts'
import { provisionTopics } from '../../../deploy/local/provision.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack } from '../../stack/index.ts'
import { newKafka, newRedis, newRegistry } from '../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../api-process.ts'
import { startWorkerProcess, type WorkerProcess } from '../worker-process.ts'

const SETUP_TIMEOUT_MS = 120_000
/** A server that was down is noticed, and everything is caught up, well within this. */
const SOON = { timeoutMs: 60_000, intervalMs: 50 }

const folder = guardedFolder()
let kafka: Component
let redis: Component
let registry: Component
let env: Record<string, string>
let worker: WorkerProcess
let apis: ApiProcess[]

beforeAll(async () => {
  kafka = await newKafka(folder.path)
  redis = await newRedis(folder.path)
  registry = await newRegistry(folder.path, kafka.address)
  await Promise.all([kafka.start(), redis.start()])
  await registry.start()
  await provisionTopics(kafka.address, registry.address)
  env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: await testStack().clickhouse(),
    API_SERVICES: 'links',
    PIPELINES: 'links',
    WORKER_ROLE: 'deciding',
    SHORT_DOMAINS: 'sho.rt,https://go.example',
  }
  worker = await startWorkerProcess(folder.path, env)
  apis = [await startApiProcess(folder.path, env), await startApiProcess(folder.path, env)]
  await waitUntil(worker.isReady, { what: 'the worker', ...SOON })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...SOON })
}, SETUP_TIMEOUT_MS)

afterAll(async () => {
  await folder.finish()
}, SETUP_TIMEOUT_MS)

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, api = apis[0]) {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** A redirect, as a browser asks for it. */
async function visit(code: string, api = apis[0], host = 'sho.rt') {
  const { hostname, port } = new URL(api.shortUrl as string)
  return await new Promise<{ status: number; location: string | undefined; cacheControl: string | undefined }>((resolve, reject) => {
    const asked = request({ hostname, port, path: `/${code}`, headers: { host } }, (response) => {
      response.resume()
      const { location, 'cache-control': cacheControl } = response.headers
      response.on('end', () => resolve({ status: response.statusCode as number, location, cacheControl }))
    })
    asked.on('error', reject).end()
  })
}

describe('the command path', () => {
  test('a link that was answered leads somewhere at once, through every API instance', async () => {
    const made = await send('POST', '/api/v1/urls', { long_url: 'https://example.com/a' })
    expect(made).toMatchObject({ status: 201, body: { long_url: 'https://example.com/a', expires_at: null } })
    for (const api of apis) {
      const answer = await visit(made.body.short_code, api)
      expect(answer).toEqual({ status: 302, location: 'https://example.com/a', cacheControl: 'private, no-store' })
    }
  })

  test('the same Idempotency-Key gets the first answer through another instance; with another body it is a conflict', async () => {
    const key = { 'idempotency-key': 'my first link' }
    const first = await send('POST', '/api/v1/urls', { long_url: 'https://example.com/b' }, key)
    const again = await send('POST', '/api/v1/urls', { long_url: 'https://example.com/b' }, key, apis[1])
    expect(again.body).toEqual(first.body)
    const other = await send('POST', '/api/v1/urls', { long_url: 'https://example.com/c' }, key, apis[1])
    expect(other).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
  })
})
