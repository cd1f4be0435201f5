import { Hono } from 'hono'
import { requestId } from 'hono/request-id'
import type { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { FailedOpen } from '../../../../api/limits/core/fail-open-warning.ts'
import { type RateLimitOptions, rateLimit } from '../../../../api/limits/core/middleware.ts'

const NOW_US = 1_800_000_000_000_000
const RULE = { rule_id: 'two', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 }
const PREFLIGHT = { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT', origin: 'https://example.com' } }

/** Replaces Redis: one rule, and one or several requests per script. */
function countingRedis() {
  const counts = new Map<string, number>()
  const state: { error: Error | undefined } = { error: undefined }
  const redis = {
    async evalsha(_sha: string, keyCount: number, ...rest: (string | number)[]) {
      if (state.error !== undefined) throw state.error
      const limit = Number(rest[keyCount + 2])
      const answers = rest.slice(0, keyCount).flatMap((key) => {
        const held = counts.get(String(key)) ?? 0
        const taken = held < limit ? 1 : 0
        counts.set(String(key), held + taken)
        return [taken, held, 0]
      })
      return [NOW_US, ...answers]
    },
  }
  return { redis: redis as unknown as Redis, counts, state }
}

function limitedApp(more: Partial<RateLimitOptions> = {}) {
  const { redis, counts, state } = countingRedis()
  const warnings: FailedOpen[] = []
  const limits = rateLimit({ redis, rules: [RULE], warn: (said) => void warnings.push(said), ...more })
  onTestFinished(() => limits.close())
  const app = new Hono()
  app.use(requestId({ generator: () => 'request-1' }))
  app.use(limits)
  app.get('/text', (c) => c.text('hello'))
  app.get('/redirect', () => Response.redirect('https://example.com/'))
  app.get('/broken', () => {
    throw new Error('broken')
  })
  app.options('/text', (c) => c.body(null, 204))
  app.onError((_error, c) => c.text('broken', 500))
  const ask = async (path: string, init: RequestInit = {}) =>
    await app.request(path, init, { incoming: { socket: { remoteAddress: '192.0.2.1' } } })
  return { ask, counts, redis: state, warnings }
}

describe('an answer', () => {
  test.each([
    ['/text', 200],
    ['/redirect', 302],
    ['/broken', 500],
    ['/nowhere', 404],
  ])('%s has the rate-limit headers, regardless of what produced it', async (path, status) => {
    const { ask } = limitedApp()
    const answered = await ask(path)
    expect([answered.status, answered.headers.get('x-ratelimit-remaining')]).toEqual([status, '1'])
  })

  test('contains the error fields of the API when the limit is exceeded', async () => {
    const { ask } = limitedApp()
    await ask('/text')
    await ask('/text')
    const refused = await ask('/text')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('60')
    const body = await refused.json()
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', request_id: 'request-1', limit: 2, window: '60s', retry_after: 60 })
    expect(body.message).toMatch(/\w/)
  })
})

test('preflights are not counted, but other OPTIONS requests are', async () => {
  const { ask, counts } = limitedApp()
  await ask('/text', PREFLIGHT)
  expect(counts.size).toBe(0)
  await ask('/text', { method: 'OPTIONS' })
  expect([...counts.values()]).toEqual([1])
})

test('apps with different prefixes have separate counters', async () => {
  const { ask, counts } = limitedApp({ keyPrefix: 'shop' })
  await ask('/text')
  expect([...counts.keys()]).toEqual(['shop:{ip:192.0.2.1}:two:w60'])
  expect(() => limitedApp({ keyPrefix: '{shop}' })).toThrow('braces')
})

describe('an error in the limiter never fails the request', () => {
  const broken = () => {
    throw new Error('a bug')
  }

  test('an error from Redis lets the request through with a warning', async () => {
    const { ask, redis, warnings } = limitedApp()
    redis.error = new Error('connection refused')
    expect((await ask('/text')).status).toBe(200)
    expect(warnings).toEqual([{ requests: 1, reason: 'unreachable', cause: 'connection refused' }])
  })

  test('an error while the caller is identified lets the request through with a warning', async () => {
    const { ask, warnings } = limitedApp({ callerOf: broken })
    expect((await ask('/text')).status).toBe(200)
    expect(warnings).toEqual([{ requests: 1, reason: 'fault', cause: 'a bug' }])
  })

  test('an error in a callback becomes a process warning', async () => {
    const told: string[] = []
    const hear = (warning: Error) => void told.push(`${warning.name}: ${warning.message}`)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const { ask, redis } = limitedApp({ onViolation: broken, onFailure: broken, warn: broken })
    const statuses = []
    for (let request = 0; request < 3; request++) statuses.push((await ask('/text')).status)
    redis.error = new Error('connection refused')
    statuses.push((await ask('/text')).status)
    // The first refusal is remembered, so another caller is used.
    expect(statuses.slice(0, 3)).toEqual([200, 200, 429])
    await expect.poll(() => told.length).toBeGreaterThan(0)
    expect(new Set(told)).toEqual(new Set(['RateLimitWarning: A callback of rateLimit threw: a bug']))
  })
})

test('without a callback for warnings, emits a process warning with the number of requests and the reason', async () => {
  const told: string[] = []
  const hear = (warning: Error) => void told.push(`${warning.name}: ${warning.message}`)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const { ask, redis } = limitedApp({ warn: undefined })
  redis.error = new Error('connection refused')
  await ask('/text')
  await expect
    .poll(() => told)
    .toEqual(['RateLimitWarning: 1 requests were let through without being counted (unreachable: connection refused)'])
})
