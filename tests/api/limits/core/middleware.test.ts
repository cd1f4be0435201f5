import { Hono } from 'hono'
import { requestId } from 'hono/request-id'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { FailedOpen } from '../../../../api/limits/core/fail-open-warning.ts'
import { type RateLimitOptions, rateLimit } from '../../../../api/limits/core/middleware.ts'
import { NOW_US, scriptRedis } from './script-redis.ts'

const CENTURY_SECONDS = 100 * 365 * 86_400
const RULE = { rule_id: 'two', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 }
const PREFLIGHT = { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT', origin: 'https://example.com' } }

function limitedApp(more: Partial<RateLimitOptions> = {}) {
  const { redis, counts, state } = scriptRedis()
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
  ])('the response to %s has the rate-limit headers, with status %i', async (path, status) => {
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
    const secondsLeft = Math.ceil(60 - ((NOW_US / 1e6) % 60))
    expect(refused.headers.get('retry-after')).toBe(String(secondsLeft))
    const body = await refused.json()
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', request_id: 'request-1', limit: 2, window: '60s', retry_after: secondsLeft })
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

test.each([
  ['/te%78t', '/text'],
  ['/text', '/te%78t'],
  ['/über%20uns', '/%C3%BCber%20uns'],
  ['/%c3%bcber%20uns', '/über%20uns'],
  ['/@ann/*', '/%40ann/posts'],
  ['/%5B1%5D', '/[1]'],
  ['/50%25', '/50%'],
])('the rule for %s applies to requests for %s', async (endpoint_pattern, path) => {
  const { ask } = limitedApp({ rules: [{ ...RULE, endpoint_pattern }] })
  expect((await ask(path)).headers.get('x-ratelimit-limit')).toBe('2')
})

test('a caller may be identified asynchronously, for example by a session', async () => {
  const { ask, counts, warnings } = limitedApp({
    callerOf: async (c) => ({ clientId: `user:${c.req.header('session')}`, tier: 'free', ip: '' }),
  })
  const by = async (session: string) => (await ask('/text', { headers: { session } })).status
  expect([await by('one'), await by('one'), await by('one'), await by('two')]).toEqual([200, 200, 429, 200])
  expect(counts.size).toBe(2)
  expect(warnings).toEqual([])
})

test("an app's prefix is part of the keys of its counters, and must not contain braces", async () => {
  const { ask, counts } = limitedApp({ keyPrefix: 'shop' })
  await ask('/text')
  expect([...counts.keys()]).toEqual(['shop:{ip:192.0.2.1}:two:w60'])
  expect(() => limitedApp({ keyPrefix: '{shop}' })).toThrow('braces')
})

test('if a field of a rule is undefined, its default value applies', async () => {
  const absent = { tier: undefined, key: undefined, burst_allowance: undefined, action: undefined, is_active: undefined }
  const { ask } = limitedApp({ rules: [{ ...RULE, ...absent }] })
  expect([await ask('/text'), await ask('/text'), await ask('/text')].map(({ status }) => status)).toEqual([200, 200, 429])
})

test.each([
  [{ endpoint_pattern: 'GET/text' }, 'GET/text is not'],
  [{ endpoint_pattern: 'HEAD /text' }, 'GET'],
  [{ limit_count: 0 }, 'limit_count'],
  [{ window_seconds: Number.NaN }, 'window_seconds'],
  [{ burst_allowance: -1 }, 'burst_allowance'],
  [{ key: [] }, 'key'],
  [{ key: ['users'] as never }, 'key'],
  [{ key: 'client' as never }, 'key'],
  [{ action: 'refuse' as never }, 'action'],
])('a rule with %o is refused when the app starts', (fault, reason) => {
  expect(() => limitedApp({ rules: [{ ...RULE, ...fault }] })).toThrow(new RegExp(`^rate limit rule two: .*${reason}`))
})

test.each([undefined, ''])('a rule with the id %j is refused when the app starts', (rule_id) => {
  expect(() => limitedApp({ rules: [{ ...RULE, rule_id: rule_id as never }] })).toThrow('rule_id')
})

test('two rules with the same id are refused, because they would share their counters', () => {
  expect(() => limitedApp({ rules: [RULE, { ...RULE, endpoint_pattern: '/text' }] })).toThrow('rule two: another rule')
})

describe('an error in the limiter never fails the request', () => {
  const broken = () => {
    throw new Error('a bug')
  }

  test('an error from Redis does not fail the request, and causes a warning', async () => {
    const { ask, redis, warnings } = limitedApp()
    redis.error = new Error('connection refused')
    expect((await ask('/text')).status).toBe(200)
    expect(warnings).toEqual([{ requests: 1, reason: 'unreachable', cause: 'connection refused' }])
  })

  test('an error while the caller is identified lets the request through with a warning', async () => {
    const { ask, warnings } = limitedApp({ callerOf: broken })
    expect((await ask('/text')).status).toBe(200)
    expect(warnings).toEqual([{ requests: 1, reason: 'fault', cause: 'a bug' }])
    const rejecting = limitedApp({ callerOf: async () => broken() })
    expect((await rejecting.ask('/text')).status).toBe(200)
    expect(rejecting.warnings).toEqual([{ requests: 1, reason: 'fault', cause: 'a bug' }])
  })

  test('a rejected promise of a callback becomes a process warning instead of ending the process', async () => {
    const told: string[] = []
    const hear = (warning: Error) => void told.push(`${warning.name}: ${warning.message}`)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const rejecting = async () => broken()
    const { ask, redis } = limitedApp({ onViolation: rejecting, onFailure: rejecting, warn: rejecting })
    for (let request = 0; request < 3; request++) await ask('/text')
    await expect.poll(() => told.length).toBe(1)
    redis.error = new Error('connection refused')
    await ask('/text')
    await expect.poll(() => told.length).toBe(3)
    expect(new Set(told)).toEqual(new Set(['RateLimitWarning: A callback of rateLimit threw: a bug']))
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
    expect(statuses.slice(0, 3)).toEqual([200, 200, 429])
    await expect.poll(() => told.length).toBeGreaterThan(0)
    expect(new Set(told)).toEqual(new Set(['RateLimitWarning: A callback of rateLimit threw: a bug']))
  })
})

test('without a callback for warnings, a process warning contains the number of requests and the reason', async () => {
  const told: string[] = []
  const hear = (warning: Error) => void told.push(`${warning.name}: ${warning.message}`)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const { ask, redis } = limitedApp({ warn: undefined })
  redis.error = new Error('connection refused')
  await ask('/text')
  await expect.poll(() => told).toEqual(['RateLimitWarning: 1 request was decided without Redis (unreachable: connection refused)'])
})

describe('a limit holds in each process while Redis does not decide', () => {
  // The window is so long that it does not end during a test. Just after the end of a window, one more request may be
  // allowed.
  const hundred = { rules: [{ ...RULE, limit_count: 100, window_seconds: CENTURY_SECONDS }] }
  const statuses = async (ask: (path: string) => Response | Promise<Response>, requests: number) =>
    (await Promise.all(Array.from({ length: requests }, () => ask('/text')))).map(({ status }) => status)
  const admitted = (all: readonly number[]) => all.filter((status) => status === 200).length

  test.each([
    ['the first scripts', (script: number) => script < 3],
    ['the last scripts', (script: number) => script > 3],
    ['all scripts', () => true],
  ])('a limit of 100 admits at most 100 of 400 simultaneous requests if Redis replies to %s too late', async (_name, isLate) => {
    const { ask, redis } = limitedApp(hundred)
    // The replies are so late that they exceed the time limit even on a busy machine.
    redis.lateMs = (script) => (isLate(script) ? 2_000 : 0)
    const count = admitted(await statuses(ask, 400))
    // The count may be below the limit, because Redis also counts requests that this process refuses when a reply is
    // late.
    expect(count).toBeLessThanOrEqual(100)
    expect(count).toBeGreaterThan(50)
  })

  test('after a single late reply, the next request is still sent to Redis', async () => {
    const { ask, redis } = limitedApp()
    redis.lateMs = (script) => (script === 0 ? 25 : 0)
    await ask('/text')
    await ask('/text')
    expect(redis.scripts).toBe(2)
  })

  test('while Redis is unreachable, a process continues from the last reply, and later reports to Redis what it admitted in the meantime', async () => {
    const { ask, redis, counts } = limitedApp(hundred)
    expect(admitted(await statuses(ask, 60))).toBe(60)
    redis.error = new Error('connection refused')
    expect(admitted(await statuses(ask, 20))).toBe(20)
    redis.error = undefined
    // Waits until a probe has closed the circuit.
    await expect.poll(async () => (await ask('/text')).status === 200 && [...counts.values()][0] > 80).toBe(true)
    const [already] = counts.values()
    expect(admitted(await statuses(ask, 100))).toBe(100 - already)
    redis.error = new Error('connection refused')
    expect(admitted(await statuses(ask, 100))).toBe(0)
  })

  test('while Redis is unreachable, a caller that Redis has never counted is admitted only up to its limit', async () => {
    const { ask, redis } = limitedApp(hundred)
    redis.error = new Error('connection refused')
    expect(admitted(await statuses(ask, 150))).toBe(100)
  })
})
