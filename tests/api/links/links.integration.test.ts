import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FUZZ_TIMEOUT_MS, fuzz } from '../../stack/fuzzer.ts'
import { AT_FIRST_TRY } from '../../stack/index.ts'
import { suspend } from '../../stack/suspend.ts'
import { type ApiProcess, startApiProcess } from '../api-process.ts'
import { bearer } from '../development-token.ts'
import { aliasRace } from './alias-race.ts'
import { clickOrdeal } from './click-ordeal.ts'
import { type Counting, startCounting } from './counting.ts'
import { type LinksSystem, send, startLinksSystem, visit } from './system.ts'

const SETUP_TIMEOUT_MS = 240_000
const RACE_TIMEOUT_MS = 240_000
const CALLERS = 1_000
const WAVE = CALLERS / 4
/** Number of responses that each visitor waits for after each incident. */
const VISITS = 50
const SOON = { timeout: 60_000, interval: 50 }

let system: LinksSystem
let counting: Counting

beforeAll(async () => {
  system = await startLinksSystem()
  counting = await startCounting(system)
}, SETUP_TIMEOUT_MS)

afterAll(async () => {
  await system?.folder.finish()
}, SETUP_TIMEOUT_MS)

const create = (body: unknown, headers: Record<string, string> = {}, api = system.apis[0]) =>
  send(api, 'POST', '/api/v1/urls', body, headers)

const token = (subject: string) => bearer(system.folder.path, subject)

/** Matches the metric that counts the redirects of an instance. */
const REDIRECTED = String.raw`http_request_duration_seconds_count\{method="GET",route="/\{short_code\}",status="302"\}`

/** Reads a metric of the first instance, as Prometheus does. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${system.apis[0].operationsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

describe('the command path', () => {
  test('a created link redirects at once through every API instance', async () => {
    const made = await create({ long_url: 'https://example.com/a' })
    expect(made).toMatchObject({ status: 201, body: { long_url: 'https://example.com/a', expires_at: null } })
    for (const api of system.apis) {
      const answer = await visit(api, made.body.short_code)
      expect(answer).toEqual({ status: 302, location: 'https://example.com/a', cacheControl: 'private, no-store' })
    }
  })

  test('a request repeated with the same Idempotency-Key gets the first response through another instance, and another body with this key is a conflict', async () => {
    const key = { 'idempotency-key': 'my first link' }
    const first = await create({ long_url: 'https://example.com/b' }, key)
    const again = await create({ long_url: 'https://example.com/b' }, key, system.apis[1])
    expect(again.body).toEqual(first.body)
    const other = await create({ long_url: 'https://example.com/c' }, key, system.apis[1])
    expect(other).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
  })

  test('a user finds a new link in the list and deletes it', async () => {
    const [api] = system.apis
    const as = await token('42')
    const { body } = await create({ long_url: 'https://example.com/mine' }, as)
    await expect.poll(async () => (await send(api, 'GET', '/api/v1/urls', undefined, as)).body.urls, SOON).toEqual([body])
    expect((await send(api, 'DELETE', `/api/v1/urls/${body.short_code}`, undefined, as)).status).toBe(204)
    expect((await visit(system.apis[1], body.short_code)).status).toBe(404)
    await expect.poll(async () => (await send(api, 'GET', '/api/v1/urls', undefined, as)).body.total, SOON).toBe(0)
  })

  test('exactly one of 1,000 concurrent callers gets the alias', { ...AT_FIRST_TRY, timeout: RACE_TIMEOUT_MS }, async () => {
    const race = aliasRace(system, 'popular')
    race.enter(CALLERS)
    await race.finish()
  })

  test('exactly one of 1,000 callers gets the alias while the worker, an API instance, Redis and the broker are killed', {
    ...AT_FIRST_TRY,
    timeout: RACE_TIMEOUT_MS,
  }, async () => {
    const race = aliasRace(system, 'wanted')
    race.enter(WAVE)
    await system.worker.kill()
    race.enter(WAVE)
    await system.worker.restart()
    system.apis[1].child.kill('SIGKILL')
    await system.restartApi(1)
    race.enter(WAVE)
    await system.redis!.kill()
    await system.redis!.start()
    race.enter(WAVE)
    await system.kafka.kill()
    await system.kafka.start()
    await race.finish()
  })
})

describe('without Kafka', () => {
  test('redirects still work, clicks are buffered, and commands get 503 in time without partial effects', async () => {
    const made = await create({ long_url: 'https://example.com/clicked', custom_alias: 'clicked' })
    expect(made.status).toBe(201)
    // Suspends the broker instead of killing it, so that connections stay open but nothing responds.
    await suspend(system.kafka.pid as number)
    const sent = await metric('clicks_sent_total')
    for (let click = 0; click < 100; click++) expect((await visit(system.apis[0], 'clicked')).status).toBe(302)
    // The command id in the response shows that the command's timeout applied, and not the handler's.
    const refused = await create({ long_url: 'https://example.com/later', custom_alias: 'later' })
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable', command_id: expect.any(String) } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await visit(system.apis[0], 'later')).status).toBe(404)
    process.kill(system.kafka.pid as number, 'SIGCONT')
    const again = () =>
      create({ long_url: 'https://example.com/later', custom_alias: 'later' }, { 'idempotency-key': refused.body.command_id })
    await expect.poll(async () => (await again()).status, SOON).toBe(201)
    await expect.poll(async () => (await metric('clicks_sent_total')) - sent, SOON).toBeGreaterThanOrEqual(100)
    expect(await metric('clicks_dropped_total')).toBe(0)
  })
})

/** Starts an API with statistics and exports, which also need the table. Waits until both are available. */
async function apiWithStatistics(): Promise<ApiProcess> {
  const { env } = counting
  const api = await startApiProcess(system.folder.path, env)
  await expect.poll(async () => (await fetch(`${api.url}/readyz`)).status, SOON).toBe(200)
  const { body } = await create({ long_url: 'https://example.com/counted' }, await token('42'), api)
  for (const what of ['stats', 'clicks.csv']) {
    const read = async () => (await fetch(`${api.url}/api/v1/urls/${body.short_code}/${what}`, { headers: await token('42') })).status
    await expect.poll(read, SOON).toBe(200)
  }
  return api
}

describe('clicks', () => {
  test('each click is counted once while the broker is down and workers are killed, and redirects still work', {
    ...AT_FIRST_TRY,
    timeout: RACE_TIMEOUT_MS,
  }, async () => {
    const ordeal = await clickOrdeal(system, counting)
    await ordeal.visits(VISITS)
    await counting.worker.kill()
    await system.kafka.kill()
    await ordeal.visits(VISITS)
    await system.kafka.start()
    await Promise.all([counting.worker.restart(), ordeal.visits(VISITS)])
    await counting.worker.kill()
    await counting.worker.restart()
    expect(await ordeal.finish()).toMatchObject({ dropped: 0 })
  })
})

describe('every route', () => {
  test(
    'answers the requests of a fuzzer as documented',
    async () => {
      const { authorization } = await token('42')
      const { url } = await apiWithStatistics()
      const routes = ['--include-path-regex', '^/api/v1/urls']
      const common = { authorization, folder: system.folder.path }
      await fuzz({ ...common, url, routes })
      // Creates a link with the code from the examples in the documentation, so that the fuzzer's requests find a link.
      await create({ long_url: 'https://example.com/', custom_alias: '3xK9dQa' })
      const redirected = await metric(REDIRECTED)
      const short = { url: system.apis[0].shortUrl as string, documentation: url, headers: ['Host: sho.rt'] }
      await fuzz({ ...common, ...short, routes: ['--include-path', '/{short_code}'] })
      expect(await metric(REDIRECTED)).toBeGreaterThan(redirected)
    },
    FUZZ_TIMEOUT_MS,
  )
})
