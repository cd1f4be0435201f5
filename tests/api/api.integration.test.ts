import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { kafkaFacts } from '../../api/kit/facts.ts'
import { apiTransport } from '../../api/kit/kafka.ts'
import { createLogger } from '../../api/kit/logging.ts'
import type { Component } from '../../deploy/local/component.ts'
import { partitionFor } from '../../kafka/partitioner.ts'
import { registryClient } from '../../kafka/registry.ts'
import { trendsServices } from '../../pipelines/trends/service.ts'
import { termKey } from '../../schemas/trends/term.ts'
import { trendOutput, trendRareVolumes, trendsSchemas, trendVolumes, userInterests } from '../../schemas/trends/topics.ts'
import { flushTestRedis } from '../stack/flush-redis.ts'
import { guardedFolder } from '../stack/folder.ts'
import { FUZZ_TIMEOUT_MS, fuzz } from '../stack/fuzzer.ts'
import { testStack, uniqueName } from '../stack/index.ts'
import { provisionService } from '../stack/provision.ts'
import { runPython } from '../stack/python.ts'
import { newKafka, newRedis, newRegistry } from '../stack/servers.ts'
import { type ApiProcess, startApiProcess } from './api-process.ts'
import { bearer } from './development-token.ts'
import { startTrendSinks } from './running-sinks.ts'

const run = promisify(execFile)
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** Term with characters that would break an unescaped SQL statement. */
const ODD_TERM = "it's \\ odd\t{x:int32} %_"
/** How long to poll until a process has noticed that a server is down, or until a view has caught up, in ms. */
const SOON = { timeout: 30_000, interval: 100 }
/**
 * Deadline of a write without Kafka. The API answers 503 after at most 5 s. The rest is a margin for a busy machine.
 */
const WRITE_DEADLINE_MS = 20_000
const SETUP_TIMEOUT_MS = 120_000
/**
 * Number of requests that the fuzzer generates per route for anonymous callers. It is small, because these callers
 * reach only a few routes.
 */
const ANONYMOUS_EXAMPLES = 5

const log = createLogger('silent')
const folder = guardedFolder()
const database = uniqueName('api').replaceAll('-', '_')
let env: Record<string, string>
let kafka: Component
let redis: Component
let registry: Component
let sinks: { stop(): Promise<void> } | undefined
let apis: ApiProcess[]

beforeAll(async () => {
  kafka = await newKafka(folder.path)
  redis = await newRedis(folder.path)
  registry = await newRegistry(folder.path, kafka.address)
  env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: await testStack().clickhouse(),
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'trends',
  }
  const admin = createClient({ url: env.CLICKHOUSE_URL })
  await admin.command({ query: `CREATE DATABASE ${database}` })
  await admin.close()
}, SETUP_TIMEOUT_MS)

afterAll(async () => {
  await sinks?.stop()
  await folder.finish()
}, SETUP_TIMEOUT_MS)

async function get(path: string, headers: Record<string, string> = {}, api = apis[0]) {
  const response = await fetch(`${api.url}${path}`, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

const token = (subject: string, scope?: string) => bearer(folder.path, subject, scope)

/** Number of times that the test about the history of terms has run. Vitest retries a failed test. */
let histories = 0
/** Window end of the newest worldwide list that a test has posted. */
let newestEnd = 0

/**
 * Returns a window end that is later than the previous one. Of two lists with the same window end, the API would keep
 * only the first.
 */
function newest(): number {
  newestEnd = Math.max(newestEnd + SECOND_MS, Math.floor(Date.now() / SECOND_MS) * SECOND_MS)
  return newestEnd
}

async function refresh(windowEnd: number, terms: readonly string[], woeid = 1) {
  const body = {
    woeid,
    window_end: new Date(windowEnd).toISOString(),
    top_k: terms.map((term) => ({ term, count: 5, velocity: 1, sample_ids: ['1'] })),
  }
  const headers = { ...(await token('pipeline', 'internal')), 'content-type': 'application/json' }
  return (await fetch(`${apis[0].url}/v1/internal/trends/refresh`, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

async function missingNames(): Promise<string[]> {
  return await readinessNames('missing')
}

async function readinessNames(list: 'missing' | 'degraded', api = apis[0]): Promise<string[]> {
  const { body } = await get('/readyz', {}, api)
  return (body[list] ?? []).map(({ name }: { name: string }) => name)
}

describe('the API process', () => {
  test('starts without Kafka, its registry and Redis, reports what is missing, and answers 503', async () => {
    apis = [await startApiProcess(folder.path, env), await startApiProcess(folder.path, env)]
    expect((await get('/livez')).status).toBe(200)
    // The topic with the rate limit rules is also missing. It is not reported, because seeded rules apply until the
    // topic can be read.
    const missing = ['redis', 'view trends', 'view interests', 'table trends-blocked-terms']
    expect(await missingNames()).toEqual(missing)
    expect(await readinessNames('degraded')).toContain('kafka')
    expect((await get('/v1/trends')).body.error).toBe('not_ready')
    expect(await refresh(newest(), ['a'])).toBe(503)
    expect((await get('/v1/trends/x/history')).body.error).toMatch(/not_ready|unavailable/)
  })

  test(
    'becomes ready without a restart when the servers are up and the views have caught up',
    async () => {
      await Promise.all([kafka.start(), redis.start()])
      await registry.start()
      await provisionService(kafka.address, registry.address, [trendsSchemas], trendsServices)
      await expect.poll(missingNames, SOON).toEqual(['view trends', 'view interests'])
      expect((await get('/v1/trends')).body.error).toBe('not_ready')
      sinks = await startTrendSinks(env)
      await expect.poll(missingNames, SOON).toEqual([])
      expect((await get('/v1/trends')).body.message).toContain('no list yet')
      // Ready views do not show that the registry is reachable, because views do not need it. A process that found the
      // registry unavailable retries only after a pause, so the test waits until no API reports `kafka`.
      for (const api of apis) await expect.poll(() => readinessNames('degraded', api), SOON).not.toContain('kafka')
    },
    SETUP_TIMEOUT_MS,
  )

  test('a posted list passes through Kafka and Redis, and both processes serve the same bytes and ETag', async () => {
    const now = newest()
    expect(await refresh(now, ['#Café', 'second'])).toBe(204)
    for (const api of apis) await expect.poll(async () => (await get('/v1/trends', {}, api)).status, SOON).toBe(200)
    const [one, other] = await Promise.all(apis.map((api) => get('/v1/trends?woeid=1', {}, api)))
    expect(one.body).toMatchObject({
      as_of: new Date(now).toISOString(),
      trends: [{ rank: 1, name: '#Café', query: '%23Caf%C3%A9', term: 'café' }, { rank: 2 }],
    })
    expect(other.text).toBe(one.text)
    expect(other.headers.get('etag')).toBe(one.headers.get('etag'))
    expect((await get('/v1/trends', { 'if-none-match': one.headers.get('etag')! }, apis[1])).status).toBe(304)
  })

  test('a newer list replaces an older one, and a request for a list that is too old gets trends_stale', async () => {
    const { body } = await get('/v1/trends')
    expect(await refresh(Date.parse(body.as_of) - MINUTE_MS, ['old'])).toBe(204)
    newestEnd = Date.parse(body.as_of) + SECOND_MS
    expect(await refresh(newestEnd, ['new'])).toBe(204)
    await expect.poll(async () => (await get('/v1/trends')).body.trends[0].name, SOON).toBe('new')
    expect(await refresh(newest() - 4 * MINUTE_MS, ['stale'], 23424977)).toBe(204)
    await expect.poll(async () => (await get('/v1/trends?woeid=23424977')).body.error, SOON).toBe('trends_stale')
  })

  test('interests are written through Kafka and rerank the list', async () => {
    await refresh(newest(), ['one', 'two', 'three'])
    const headers = { ...(await token('9007199254740993')), 'content-type': 'application/json' }
    const body = JSON.stringify({ topic_weights: { '#Three': 2 }, exclude_topics: ['one'] })
    const written = await fetch(`${apis[0].url}/v1/me/interests`, { method: 'PUT', headers, body })
    expect(written.status).toBe(200)
    expect((await get('/v1/me/interests', headers, apis[1])).body).toMatchObject({
      user_id: '9007199254740993',
      topic_weights: { '#Three': 2 },
    })
    await expect
      .poll(
        async () => (await get('/v1/trends?personalized=true', headers, apis[1])).body.trends.map(({ term }: { term: string }) => term),
        SOON,
      )
      .toEqual(['three', 'two'])
  })

  test('the volume of a step in the history of a term is the sum of the highest count of each minute and of all late counts, whether the term was frequent or rare', async () => {
    const step = Math.floor(Date.now() / (5 * MINUTE_MS)) * 5 * MINUTE_MS
    // Each run uses a different term, so that a repeated run does not find the counts of the previous one.
    const [term, plain] = [`café${step}n${++histories}`, `cafe${step}n${histories}`]
    const counted = (woeid: number, of: string, minute: number, volume: number) => ({ woeid, term: of, minute, volume })
    const counts = [
      counted(1, term, step - 5 * MINUTE_MS, 4),
      counted(1, term, step - 5 * MINUTE_MS, 9),
      counted(1, term, step - 4 * MINUTE_MS, 100),
      counted(44418, term, step - 5 * MINUTE_MS, 1_000),
      counted(1, plain, step - 5 * MINUTE_MS, 1_000),
      counted(1, ODD_TERM, step, 2_000_000_000),
    ]
    const transport = apiTransport({ brokers: [kafka.address], log })
    const facts = kafkaFacts({
      transport,
      registry: registryClient({ url: registry.address }),
      topics: [trendVolumes, trendRareVolumes],
      log,
    })
    await expect.poll(() => facts.probe.check(), SOON).toBeUndefined()
    for (const count of counts) await facts.publish(trendVolumes, termKey(count.woeid, count.term), count)
    const rare = (minute: number, woeids: number[], volumes: number[], adds_as = '') => ({
      adds_as,
      rows: [{ term, minute, woeids, volumes }],
    })
    // The first row is from before the term became frequent. The second row has no worldwide count.
    await facts.publish(trendRareVolumes, 0, rare(step - 4 * MINUTE_MS, [44418, 1], [3, 60]))
    await facts.publish(trendRareVolumes, 0, rare(step - 3 * MINUTE_MS, [44418], [500]))
    await facts.publish(trendRareVolumes, 0, rare(step - 2 * MINUTE_MS, [44418, 1], [5, 5]))
    await facts.publish(trendRareVolumes, 0, rare(step - 2 * MINUTE_MS, [44418, 1], [5, 7]))
    // Rows with an id were counted after their minute had left the state of the term, so they add to the volume. The
    // second row repeats the first.
    for (const id of ['0-17', '0-17', '0-18']) await facts.publish(trendRareVolumes, 0, rare(step - 2 * MINUTE_MS, [1], [10], id))
    await facts.close()
    await transport.close()

    const series = async (of: string) => (await get(`/v1/trends/${encodeURIComponent(of)}/history?hours=1`)).body.data_points
    // The next step may begin during the test, so the point with the counts is not necessarily the last one.
    const at = new Date(step).toISOString()
    await expect.poll(async () => (await series(ODD_TERM))?.find(({ ts }: { ts: string }) => ts === at)?.volume, SOON).toBe(2_000_000_000)
    const points = await series(`#${term.toUpperCase()}`)
    expect(points).toHaveLength(12)
    expect(points.filter(({ volume }: { volume: number }) => volume > 0)).toEqual([
      { ts: new Date(step - 5 * MINUTE_MS).toISOString(), volume: 136 },
    ])
  })

  test('an independent client reads the published records with their keys, partitions and Avro values', async () => {
    const [lists, profiles] = JSON.parse(
      await runPython(join(import.meta.dirname, 'read_facts.py'), {
        args: [kafka.address, registry.address, 'trend-output', 'user-interests'],
      }),
    )
    expect(lists.find(({ value }: { value: { entries: { name: string }[] } }) => value.entries[0]?.name === '#Café')).toMatchObject({
      key: '1',
      partition: partitionFor(Buffer.from('1'), trendOutput.partitions),
      value: { woeid: 1, source: 'endpoint', entries: [{ term: 'café', tweet_volume: 5, sample_tweets: [1] }, { term: 'second' }] },
    })
    expect(profiles).toMatchObject([
      {
        key: '9007199254740993',
        partition: partitionFor(Buffer.from('9007199254740993'), userInterests.partitions),
        value: { user_id: '9007199254740993', topic_weights: { '#Three': 2 }, exclude_topics: ['one'] },
      },
    ])
  })

  test('without Redis, the API answers 503 and is not ready, and it recovers when Redis is back', async () => {
    await refresh(newest(), ['kept'])
    await expect.poll(async () => (await get('/v1/trends')).body.trends?.[0]?.name, SOON).toBe('kept')
    await redis.kill()
    await expect.poll(async () => (await get('/v1/trends')).body.error, SOON).toBe('unavailable')
    expect(await missingNames()).toContain('redis')
    await redis.start()
    await expect.poll(async () => (await get('/v1/trends')).status, SOON).toBe(200)
  })

  test('after Redis was emptied, the API answers not_ready until the view is rebuilt from the log', async () => {
    await sinks?.stop()
    const client = new Redis(redis.address)
    onTestFinished(() => client.disconnect())
    await flushTestRedis(client)
    await expect.poll(async () => (await get('/v1/trends')).body.error, SOON).toBe('not_ready')
    expect((await get('/v1/me/interests', await token('9007199254740993'))).body.error).toBe('not_ready')
    // Other services do not need these views, so the process stays ready. A report of the previous test, in which Redis
    // was missing, may still be in use.
    const ready = { status: 200, body: { degraded: expect.arrayContaining([{ name: 'view trends' }, { name: 'view interests' }]) } }
    await expect.poll(() => get('/readyz'), SOON).toMatchObject(ready)
    sinks = await startTrendSinks(env)
    await expect.poll(async () => (await get('/v1/trends')).status, SOON).toBe(200)
    expect((await get('/v1/trends')).body.trends[0].name).toBe('kept')
  })

  test('without Kafka, the API still serves lists and answers writes with 503 in time; writes work again when Kafka is back', async () => {
    const headers = { ...(await token('77')), 'content-type': 'application/json' }
    const write = () =>
      fetch(`${apis[0].url}/v1/me/interests`, { method: 'PUT', headers, body: '{}', signal: AbortSignal.timeout(WRITE_DEADLINE_MS) })
    // The previous test emptied Redis. This waits until the view is complete, because it cannot be rebuilt without
    // Kafka.
    await expect.poll(() => readinessNames('degraded'), SOON).toEqual([])
    await kafka.kill()
    const refused = await write()
    expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([503, 'unavailable'])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await get('/v1/trends')).status).toBe(200)
    // Polls, because the process may not have noticed the outage yet.
    await expect
      .poll(async () => {
        const { status, body } = await get('/readyz')
        return [status, body.degraded?.map(({ name }: { name: string }) => name)]
      }, SOON)
      .toEqual([200, ['kafka', 'news of table trends-blocked-terms']])
    await kafka.start()
    await expect.poll(async () => (await write()).status, SOON).toBe(200)
  })

  test(
    'requests that a fuzzer generates from /openapi.json get no 5xx and no undocumented response',
    async ({ skip }) => {
      await run('python3', ['--version']).catch(() => skip('python3 is not installed'))
      await refresh(newest(), ['for the fuzzer'])
      await expect.poll(async () => (await get('/v1/trends')).status, SOON).toBe(200)
      const { authorization } = await token('42', 'internal')
      // The stream is excluded, because the fuzzer would wait for the end of each response. tests/api/trends tests its
      // parameters.
      const routes = ['--exclude-path-regex', '^/v1/trends/stream']
      const all = { url: apis[0].url, routes, folder: folder.path }
      await fuzz({ ...all, authorization })
      await fuzz({ ...all, examples: ANONYMOUS_EXAMPLES })
    },
    FUZZ_TIMEOUT_MS,
  )

  test('SIGTERM shuts the process down gracefully', async () => {
    expect(await apis[1].stop()).toBe(0)
    // The order of the lines is not checked: they are written asynchronously and flushed at exit, so a busy machine may
    // change it.
    expect(apis[1].lines).toContainEqual(expect.objectContaining({ event: 'api_stopped', connections_cut: 0 }))
    expect(await get('/livez')).toMatchObject({ status: 200 })
  })

  test('the API does not start with an invalid setting, and the message names the setting and what is wrong with it', async () => {
    await expect(startApiProcess(folder.path, { ...env, REDIS_URL: 'nowhere', NODE_ENV: 'production' })).rejects.toThrow(
      /ended with 1: the API cannot start: invalid settings:[\s\S]*REDIS_URL: does not begin with redis/,
    )
  })
})
