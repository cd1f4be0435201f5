import { z } from '@hono/zod-openapi'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { jsonAnswer } from '../../../../api/kit/answer.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import { addressRanges } from '../../../../api/kit/client-address.ts'
import { bind, defineRoute } from '../../../../api/kit/route.ts'
import { hashOfKey } from '../../../../api/limits/core/caller.ts'
import { type DecisionListener, failOpenLimiter } from '../../../../api/limits/core/fail-open-limiter.ts'
import { limitedPaths } from '../../../../api/limits/core/limited-paths.ts'
import { limiter } from '../../../../api/limits/core/limiter.ts'
import { compileRules } from '../../../../api/limits/core/matching.ts'
import { ownCounts } from '../../../../api/limits/core/own-counts.ts'
import { requestLimits } from '../../../../api/limits/core/request-limits.ts'
import { limiterTelemetry } from '../../../../api/limits/core/telemetry.ts'
import { RuleBody } from '../../../../api/limits/model.ts'
import { type GivenRule, ruleOf } from '../../../../schemas/limit-rule.ts'
import { testApp } from '../../kit/harness.ts'
import { memoryCounters } from './memory-counters.ts'

const KEY = 'mr_live_0123456789'
const EVERYTHING: GivenRule = { rule_id: 'all "of" it', endpoint_pattern: '/api/v1/*', limit_count: 2, window_seconds: 60 }

const shared = { summary: 's', description: 'd', tag: 'things', errors: [], answers: { 200: { description: 'ok', schema: z.unknown() } } }
const state = { runs: 0 }
function answer() {
  state.runs++
  return jsonAnswer(200, { run: state.runs })
}
const things = {
  name: 'things',
  description: 'd',
  errors: [],
  isUserId: isDecimalUserId,
  probes: [],
  routes: [
    bind(defineRoute({ ...shared, method: 'get', path: '/api/v1/things', operationId: 'a', auth: { kind: 'optional' } }), () => ({
      ...answer(),
      reusableUntil: Number.POSITIVE_INFINITY,
    })),
    bind(
      defineRoute({
        ...shared,
        method: 'get',
        path: '/api/v1/rate-limits/rules',
        operationId: 'b',
        auth: { kind: 'scope', scope: 'admin' },
      }),
      answer,
    ),
    bind(defineRoute({ ...shared, method: 'get', path: '/stack/next', operationId: 'd', auth: { kind: 'open' } }), answer),
    bind(
      defineRoute({
        ...shared,
        method: 'post',
        path: '/api/v1/things/bulk',
        countsAs: '/api/v1/things',
        units: ({ items }) => items.length,
        operationId: 'e',
        auth: { kind: 'open' },
        body: z.object({ items: z.array(z.string()) }),
      }),
      answer,
    ),
    bind(defineRoute({ ...shared, method: 'get', path: '/v1/free', operationId: 'c', auth: { kind: 'open' } }), answer),
  ],
}

async function limitedApp(rules: readonly GivenRule[] = [EVERYTHING]) {
  const counters = memoryCounters()
  const table = compileRules(rules.map(ruleOf))
  const timers: (() => void)[] = []
  const registry = new Registry()
  const lines: Record<string, unknown>[] = []
  const telemetry = limiterTelemetry({
    registry,
    log: { warn: (fields, event) => void lines.push({ ...fields, event }) },
    later: (ms, run) => {
      expect(ms).toBe(1_000)
      timers.push(run)
    },
  })
  const memory = { isShort: false }
  const heard: { listen: DecisionListener } = { listen: () => undefined }
  const limits = requestLimits({
    limiter: failOpenLimiter({
      limiter: limiter({ counters: counters.store, rules: () => table, own: ownCounts({ now: () => 0, monotonic: () => 0 }) }),
      observer: telemetry,
      monotonic: () => 0,
      onDecision: (request, verdict) => heard.listen(request, verdict),
    }),
    clients: {
      find: (hash) => (hash === hashOfKey(KEY) ? { clientId: 'acme', keyId: 'k1', tier: 'pro' } : undefined),
    },
    trusted: addressRanges(['127.0.0.0/8']),
    paths: limitedPaths(['/api/v1/*', '/stack/*']),
    isMemoryShort: () => memory.isShort,
  })
  const app = await testApp({ services: [things], limits })

  async function get(path: string, headers: Record<string, string> = {}, remote = '203.0.113.9') {
    const env = { incoming: { socket: { remoteAddress: remote }, url: path } }
    const response = await app.app.request(path, { headers }, env)
    return { status: response.status, headers: response.headers, body: (await response.json()) as { error?: string } }
  }
  async function post(path: string, items: readonly string[]) {
    const env = { incoming: { socket: { remoteAddress: '203.0.113.9' }, url: path } }
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ items }) }
    const response = await app.app.request(path, init, env)
    return { status: response.status, headers: response.headers, body: (await response.json()) as { message?: string } }
  }
  /** Runs all pending timers, as if one second had passed. */
  const second = () => {
    for (const run of timers.splice(0)) run()
  }
  return { ...app, ...counters, limits, second, timers, heard, memory, registry, warnings: lines, get, post }
}

describe('an answer', () => {
  test('carries the remaining units in both header styles', async () => {
    const { get } = await limitedApp()
    const { status, headers } = await get('/api/v1/things')
    expect(status).toBe(200)
    expect(Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit')))).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '180',
      'x-ratelimit-policy': '2;w=60',
      ratelimit: '"all \\"of\\" it";r=1;t=60',
      'ratelimit-policy': '"all \\"of\\" it";q=2;w=60',
    })
    expect(headers.get('access-control-expose-headers')).toContain('X-RateLimit-Remaining')
  })

  test('has status 429 and the documented body above the limit, and the handler does not run', async () => {
    const { get, metrics } = await limitedApp()
    await get('/api/v1/things')
    await get('/api/v1/things')
    const { runs } = state
    const { status, headers, body } = await get('/api/v1/things')
    expect([status, state.runs]).toEqual([429, runs])
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', limit: 2, window: '60s', retry_after: 60 })
    expect(headers.get('retry-after')).toBe('60')
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(await metrics.text()).toContain('http_errors_total{code="rate_limit_exceeded"} 1')
  })

  test('a 404 carries the rate-limit headers, and a request for an unknown path counts', async () => {
    const { get } = await limitedApp()
    const { status, headers } = await get('/api/v1/nothing')
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([404, '1'])
    await get('/api/v1/nothing')
    expect((await get('/api/v1/nothing')).status).toBe(429)
  })

  test('a request for any path that a service declares as limited can get 429, and the OpenAPI document says so', async () => {
    const { get, app } = await limitedApp([{ ...EVERYTHING, endpoint_pattern: '*' }])
    await get('/stack/next')
    await get('/stack/next')
    expect((await get('/stack/next')).status).toBe(429)
    const { paths } = (await (await app.request('/openapi.json')).json()) as { paths: Record<string, { get: { responses: object } }> }
    const documented = (path: string) => '429' in paths[path].get.responses
    expect([documented('/stack/next'), documented('/api/v1/things'), documented('/v1/free')]).toEqual([true, true, false])
  })

  test('a request for a path that no service declares as limited is neither counted nor refused', async () => {
    const { get, counts } = await limitedApp([{ ...EVERYTHING, endpoint_pattern: '*' }])
    for (let request = 0; request < 4; request++) expect((await get('/v1/free')).status).toBe(200)
    expect(counts.size).toBe(0)
  })

  test('a bulk request counts as many requests as it has items, and its handler does not run if the limit does not allow all of these requests', async () => {
    const { post, counts } = await limitedApp([{ ...EVERYTHING, limit_count: 10 }])
    const items = (count: number) => Array.from({ length: count }, () => 'item')
    const first = await post('/api/v1/things/bulk', items(7))
    expect([first.status, first.headers.get('x-ratelimit-remaining'), [...counts.values()]]).toEqual([200, '3', [7]])
    const { runs } = state
    expect((await post('/api/v1/things/bulk', items(4))).status).toBe(429)
    expect(state.runs).toBe(runs)
    // The request itself was counted before its body was read.
    expect([...counts.values()]).toEqual([8])
    expect((await post('/api/v1/things/bulk', items(2))).status).toBe(200)
    expect((await post('/api/v1/things/bulk', [])).status).toBe(429)
  })

  test('a bulk request that a limit can never allow is refused with the advice to send smaller parts', async () => {
    const { post } = await limitedApp([{ ...EVERYTHING, limit_count: 10 }])
    const messageFor = async (count: number) => {
      const refused = await post(
        '/api/v1/things/bulk',
        Array.from({ length: count }, () => 'item'),
      )
      expect(refused.status).toBe(429)
      return refused.body.message
    }
    expect(await messageFor(11)).toContain('counts as 11 requests, but the limit never allows more than 10 at once')
    expect(await messageFor(10)).toContain('Wait as long as Retry-After says')
  })

  test('is not cached, because a cached answer would not be counted', async () => {
    const { get, answers } = await limitedApp()
    await get('/api/v1/things')
    expect(answers.get('/api/v1/things', 0)).toBeUndefined()
  })

  test('requests for a path and for a percent-encoded spelling of it share a counter', async () => {
    const { get, counts } = await limitedApp([{ ...EVERYTHING, endpoint_pattern: '/api/v1/things' }])
    await get('/api/v1/things')
    await get('/api/v1/thin%67s')
    expect([...counts.values()]).toEqual([2])
  })

  test.each([
    ['/api/v1/f%C3%BCr', '/api/v1/f%c3%bcr'],
    ['/api/v1/für', '/api/v1/f%C3%BCr'],
    ['/api/v1/a%20b', '/api/v1/a%20b'],
    ['/api/v1/a%2Fb', '/api/v1/a%2fb'],
    ['/api/v1/%7Bid%7D', '/api/v1/%7bid%7D'],
    ['/api/v1/%22%27%2A%21', '/api/v1/%22%27*!'],
    ['/api/v1/50%25', '/api/v1/50%25'],
    ['/api/v1/50%', '/api/v1/50%25'],
    ['/api/v1/%5B1]', '/api/v1/[1%5D'],
    ['/api/v1/me@example', '/api/v1/me%40example'],
    ['/api/v1/%24%26%2B%2C%3B%3D%3A', '/api/v1/$&+,;=:'],
  ])('the rule for %s applies to requests for %s', async (endpoint_pattern, path) => {
    const pattern = RuleBody.parse({ match: { endpoint_pattern }, limit: 1, window_seconds: 60 }).match.endpoint_pattern
    const { get } = await limitedApp([{ ...EVERYTHING, endpoint_pattern: pattern }])
    expect((await get(path)).headers.get('x-ratelimit-limit')).toBe(String(EVERYTHING.limit_count))
  })
})

describe('identification of callers', () => {
  test('a caller with a client certificate is identified by the name in the certificate instead of the address', async () => {
    const rules: GivenRule[] = [EVERYTHING, { ...EVERYTHING, rule_id: 'by-address', key: ['ip'] }]
    const { limits, counts } = await limitedApp(rules)
    const request = { method: 'GET', path: '/api/v1/things', apiKey: undefined, forwardedFor: undefined, remote: '203.0.113.9' }
    const shown = { ...request, userId: undefined, scopes: new Set<string>(), certificate: 'payments {eu}' }
    expect((await limits.admit(shown)).caller).toMatchObject({ clientId: 'certificate:payments {eu}', certificate: 'payments {eu}' })
    expect([...counts.keys()].map((key) => /\{(.+)\}/.exec(key)![1])).toEqual(['certificate:payments %7Beu%7D'])
    expect((await limits.admit({ ...shown, apiKey: KEY })).caller.clientId).toBe('acme')
    expect((await limits.admit({ ...shown, apiKey: 'unknown' })).caller.clientId).toBe('ip:203.0.113.9')
  })

  test('callers are identified by key, then token, then address, and only trusted proxies set the address', async () => {
    const { get, counts, bearer } = await limitedApp()
    const user = await bearer({ sub: '42' })
    await get('/api/v1/things', { ...user, 'x-api-key': KEY })
    await get('/api/v1/things', user)
    await get('/api/v1/things', { 'x-forwarded-for': '198.51.100.1' })
    await get('/api/v1/things', { 'x-forwarded-for': '198.51.100.1' }, '127.0.0.1')
    await get('/api/v1/things', {}, '2001:db8::1')
    await get('/api/v1/things', {}, '2001:db8::2')
    const who = [...counts].map(([key, count]) => [/\{(.+)\}/.exec(key)![1], count])
    expect(who).toEqual([
      ['acme', 1],
      ['user:42', 1],
      ['ip:203.0.113.9', 1],
      ['ip:198.51.100.1', 1],
      ['ip:2001:db8::/64', 2],
    ])
  })

  test('while memory is short, the networks of one IPv6 customer share a counter, and other callers keep separate counters', async () => {
    const { get, counts, memory, bearer } = await limitedApp()
    await get('/api/v1/things', {}, '198.51.100.1')
    memory.isShort = true
    const statuses = []
    for (let network = 0; network < 200; network++)
      statuses.push((await get('/api/v1/things', {}, `2001:db8:7:${network.toString(16)}::1`)).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    await get('/api/v1/things', {}, '2001:db8:8::1')
    await get('/api/v1/things', {}, '198.51.100.1')
    await get('/api/v1/things', await bearer({ sub: '42' }), '2001:db8:7:1::1')
    const who = [...counts].map(([key, count]) => [/\{(.+)\}/.exec(key)![1], count])
    expect(who).toEqual([
      ['ip:198.51.100.1', 2],
      ['ip:2001:db8:7::/48', 2],
      ['ip:2001:db8:8::/48', 1],
      ['user:42', 1],
    ])
  })

  test('a request with an unknown key gets 401 and counts against the address, which limits guessing', async () => {
    const { get, counts, lines } = await limitedApp()
    for (let guess = 0; guess < 2; guess++) {
      const { status, body } = await get('/api/v1/things', { 'x-api-key': `mr_guess_${guess}` })
      expect([status, body.error]).toEqual([401, 'invalid_api_key'])
    }
    expect((await get('/api/v1/things', { 'x-api-key': 'mr_guess_3' })).status).toBe(429)
    expect([...counts.values()]).toEqual([2])
    expect(JSON.stringify(lines)).not.toContain('mr_guess')
  })

  test('a request with a bad token gets 401 and counts against the address', async () => {
    const { get } = await limitedApp()
    const guesses = await Promise.all(Array.from({ length: 3 }, () => get('/api/v1/things', { authorization: 'Bearer x.y.z' })))
    expect(guesses.map(({ status }) => status).sort()).toEqual([401, 401, 429])
  })

  test('an administrator can use the routes for rules even while a limit is exceeded', async () => {
    const { get, bearer } = await limitedApp([{ ...EVERYTHING, limit_count: 1, key: ['endpoint'] }])
    await get('/api/v1/things')
    expect((await get('/api/v1/things')).status).toBe(429)
    const admin = await bearer({ sub: '1', scope: 'admin' })
    expect((await get('/api/v1/rate-limits/rules', admin)).status).toBe(200)
    expect((await get('/api/v1/rate-limits/rules', await bearer({ sub: '2' }))).status).toBe(429)
  })
})

test('limits are enforced while Redis does not respond, and the number of affected requests is logged once a second', async () => {
  const { get, state: counters, second, timers, warnings, registry, lines } = await limitedApp()
  counters.failing = 'timeout'
  const statuses = []
  for (let request = 0; request < 5; request++) statuses.push((await get('/api/v1/things')).status)
  expect(statuses).toEqual([200, 200, 429, 429, 429])
  const warned = (requests: number) => ({ event: 'limiter_failed_open', requests, reason: 'timeout', cause: undefined })
  expect(warnings).toEqual([warned(1)])
  second()
  expect(warnings).toEqual([warned(1), warned(4)])
  await get('/api/v1/things', { 'x-api-key': KEY })
  expect(warnings).toHaveLength(2)
  second()
  expect(warnings).toEqual([warned(1), warned(4), warned(1)])
  // Redis has decided all requests since the last warning. The timer has therefore stopped, and the next request that
  // is decided without Redis is reported immediately.
  second()
  expect(timers).toEqual([])
  await get('/api/v1/things')
  expect(warnings).toHaveLength(4)
  expect(await registry.metrics()).toContain('rate_limit_undecided_total{reason="timeout"} 7')
  expect(JSON.stringify([lines, warnings])).not.toContain(KEY)
})

test('an error in the limiter lets the request through and is reported', async () => {
  const { get, store, warnings } = await limitedApp()
  store.decide = () => {
    throw new Error('a bug')
  }
  expect((await get('/api/v1/things')).status).toBe(200)
  expect(warnings).toEqual([{ event: 'limiter_failed_open', requests: 1, reason: 'fault', cause: 'a bug' }])
})

test('a decision applies even if reporting it fails', async () => {
  const { get, heard, registry, warnings } = await limitedApp()
  heard.listen = () => {
    throw new Error('a bug')
  }
  const statuses = []
  for (let request = 0; request < 3; request++) statuses.push((await get('/api/v1/things')).status)
  expect(statuses).toEqual([200, 200, 429])
  expect(await registry.metrics()).toContain('rate_limit_decisions_total{outcome="refused"} 1')
  expect(warnings).toEqual([{ event: 'limit_decisions_unrecorded', requests: 1, reason: 'fault', cause: 'a bug' }])
})

test('a log-only rule refuses nothing and sets no headers', async () => {
  const { get } = await limitedApp([{ ...EVERYTHING, limit_count: 1, action: 'log_only' }])
  for (let request = 0; request < 3; request++) {
    const { status, headers } = await get('/api/v1/things')
    expect([status, headers.get('x-ratelimit-limit')]).toEqual([200, null])
  }
})

test('the strictest of several rules sets the headers', async () => {
  const { get } = await limitedApp([
    { ...EVERYTHING, rule_id: 'wide', limit_count: 100 },
    { ...EVERYTHING, rule_id: 'narrow', limit_count: 3, key: ['ip'] },
  ])
  const { headers } = await get('/api/v1/things')
  expect(headers.get('ratelimit')).toBe('"narrow";r=2;t=60')
})
