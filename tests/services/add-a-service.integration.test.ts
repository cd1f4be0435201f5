import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { startApiProcess } from '../api/api-process.ts'
import { startWorkerProcess } from '../api/worker-process.ts'
import { guardedFolder } from '../stack/folder.ts'
import { privateKafka, privateRedis, privateRegistry, testStack, uniqueName } from '../stack/index.ts'
import { apply, copyCheckout, runIn } from './checkout.ts'
import { type Step, stepsOf } from './page.ts'

/** How long processes may take to start, and votes may take to arrive, on a busy machine. */
const SOON = { timeout: 60_000, interval: 100 }
const TEST_TIMEOUT_MS = 300_000
const PAGE = join(import.meta.dirname, '../../docs/add-a-service.md')
/** Partition counts in production for the topics of the service that the page adds. */
const PARTITIONS = { 'votes-cast': 6, 'vote-counts': 3, 'votes-by-choice-repartition': 3, 'votes-totals-changelog': 3 }

test('a service added by the steps of docs/add-a-service.md works from its route to its table', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const checkout = join(folder.path, 'checkout')
  copyCheckout(checkout)
  const steps = stepsOf(readFileSync(PAGE, 'utf8'))
  for (const step of steps) apply(step, checkout)
  // These are the steps of `npm run schemas`, without the check for installed packages.
  runIn(checkout, ['scripts/schema-types.ts'])
  expect(readFileSync(join(checkout, 'README.md'), 'utf8')).toContain('| `VOTES_AT_ONCE` | 10 | maximum number of votes in one request |')
  writeFileSync(join(checkout, TYPES_OF_SERVICE), typeCheckOf(steps))
  // Several threads of the compiler would check some types more than once.
  runIn(checkout, ['node_modules/typescript/bin/tsc', '--singleThreaded', '--project', TYPES_OF_SERVICE])
  runIn(checkout, ['node_modules/@biomejs/biome/bin/biome', 'check', '--vcs-enabled=false', ...ROOMS_OF_SERVICE])

  const [kafka, redis] = await Promise.all([privateKafka(), privateRedis()])
  const registry = await privateRegistry(kafka.address)
  const planned = runIn(checkout, ['tests/services/children/provision.ts', kafka.address, registry.address, 'vote'])
  expect(JSON.parse(planned)).toEqual(PARTITIONS)
  expect(Object.fromEntries(await partitionsOn(kafka.address))).toEqual(PARTITIONS)

  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: await testStack().clickhouse(),
    CLICKHOUSE_DATABASE: await newDatabase(),
    PIPELINES: 'votes',
    API_SERVICES: 'votes',
    VOTES_AT_ONCE: '3',
  }
  const [worker, api] = await Promise.all([startWorkerProcess(folder.path, env, checkout), startApiProcess(folder.path, env, checkout)])
  await expect.poll(() => worker.isReady(), SOON).toBe(true)
  await expect.poll(async () => (await fetch(`${api.url}/readyz`)).status, SOON).toBe(200)

  const cast = async (user: string, votes: number) => {
    const body = JSON.stringify({ choice: 'tea', votes })
    const headers = { 'content-type': 'application/json', ...(await bearer(folder.path, user)) }
    return await fetch(`${api.url}/api/v1/votes`, { method: 'POST', headers, body })
  }
  expect((await cast('1', 2)).status).toBe(202)
  expect((await cast('2', 3)).status).toBe(202)
  // The setting limits the votes in a request, so four votes are too many.
  expect((await cast('2', 4)).status).toBe(400)
  const read = async () => (await fetch(`${api.url}/api/v1/votes/tea`)).json()
  // The votes pass through the repartition topic, the store, the sinks, the view and the table.
  await expect.poll(read, SOON).toEqual({ choice: 'tea', votes: 5, voters: 2 })
  // The service seeds a limit of five requests an hour.
  const statuses = []
  for (let count = 0; count < 6; count++) statuses.push((await cast('3', 1)).status)
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
  await expect.poll(read, SOON).toEqual({ choice: 'tea', votes: 10, voters: 3 })

  const demo = runIn(checkout, ['tools/demo/main.ts', '--rate', '20', '--for', '1s'], env)
  expect(demo).toMatch(/: trends, .*votes\n/)
  await expect.poll(async () => (await read()).votes, SOON).toBeGreaterThan(10)
  expect(await Promise.all([worker.stop(), api.stop()])).toEqual([0, 0])
})

const ROOMS_OF_SERVICE = ['schemas', 'state/views', 'state/tables', 'pipelines', 'api', 'tools/demo'].map((room) => `${room}/votes`)

const TYPES_OF_SERVICE = 'tsconfig.service.json'

/**
 * Returns the text of a tsconfig for the files from the steps, the entry points of the processes, and all files that
 * these import.
 */
function typeCheckOf(steps: readonly Step[]): string {
  const changed = steps.map(({ path }) => path).filter((path) => path.endsWith('.ts'))
  const files = [...new Set([...changed, 'api/main.ts', 'pipelines/main.ts', 'deploy/local/start.ts', 'tools/demo/main.ts'])]
  return JSON.stringify({ extends: './tsconfig.json', files, include: [] })
}

async function partitionsOn(brokers: string): Promise<Map<string, number>> {
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'test' }, { runtime: systemRuntime() })
  try {
    await transport.connect()
    return await transport.partitionCounts(Object.keys(PARTITIONS))
  } finally {
    await transport.close()
  }
}

async function newDatabase(): Promise<string> {
  const name = uniqueName('votes').replaceAll('-', '_')
  const query = encodeURIComponent(`CREATE DATABASE ${name}`)
  const response = await fetch(`${await testStack().clickhouse()}/?query=${query}`, { method: 'POST' })
  if (!response.ok) throw new Error(await response.text())
  return name
}

async function bearer(home: string, subject: string): Promise<Record<string, string>> {
  const key = await ensureDevelopmentKey(home)
  const claims = { subject, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: 3_600, now: Date.now() }
  return { authorization: `Bearer ${await mintToken(key, claims)}` }
}
