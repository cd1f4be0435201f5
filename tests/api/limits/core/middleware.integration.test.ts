import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { RuleStatus } from '../../../../api/limits/core/limiter.ts'
import { rateLimit } from '../../../../api/limits/core/middleware.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'

const LONGEST_WINDOW_SECONDS = 9_000_000_000
const SOON = { timeout: 30_000, interval: 10 }

test('the middleware limits a Hono app, even while Redis is unreachable', async () => {
  const redis = new Redis(await testStack().redis(), { enableOfflineQueue: false })
  onTestFinished(() => redis.disconnect())
  const violations: RuleStatus[] = []
  const [rule_id, logged] = [uniqueName('rule'), uniqueName('rule')]
  const app = new Hono()
  app.use(
    '/api/*',
    rateLimit({
      redis,
      rules: [
        { rule_id, endpoint_pattern: 'GET /api/*', limit_count: 2, window_seconds: 3_600 },
        { rule_id: logged, endpoint_pattern: '*', limit_count: 1, window_seconds: 3_600, action: 'log_only', key: ['endpoint'] },
      ],
      onViolation: (status) => void violations.push(status),
    }),
  )
  app.get('/api/hello', (c) => c.text('hello'))
  app.get('/free', (c) => c.text('free'))
  const get = (path: string, remoteAddress = '192.0.2.1') => app.request(path, {}, { incoming: { socket: { remoteAddress } } })

  // Until the client is connected to Redis, and whenever Redis replies late, the process decides with its own counts.
  // It may then admit more requests than the limit allows. The test therefore polls until a request is refused.
  await expect.poll(async () => (await get('/api/hello')).status, SOON).toBe(429)
  const refused = await get('/api/hello')
  expect(await refused.json()).toMatchObject({ error: 'rate_limit_exceeded', limit: 2, window: '3600s' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('ratelimit-policy')).toBe(`"${rule_id}";q=2;w=3600`)
  expect((await get('/free')).headers.get('ratelimit')).toBeNull()
  expect(new Set(violations.map(({ rule }) => rule.rule_id))).toEqual(new Set([rule_id, logged]))

  // Without Redis, the process continues with its own counts. A caller that was refused before stays refused, and other
  // callers get their full limit.
  redis.disconnect()
  expect((await get('/api/hello')).status).toBe(429)
  const others = [1, 2, 3].map(() => get('/api/hello', '192.0.2.2'))
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 429])
})

test('Redis can decide by a rule with the longest allowed window, and a longer window is refused when the app starts', async () => {
  const redis = new Redis(await testStack().redis())
  onTestFinished(() => redis.disconnect())
  const failures: string[] = []
  const limitedBy = (window_seconds: number) =>
    rateLimit({
      redis,
      rules: [{ rule_id: uniqueName('rule'), endpoint_pattern: '*', limit_count: 1, window_seconds }],
      onFailure: (reason) => void failures.push(reason),
    })
  expect(() => limitedBy(Number.MAX_SAFE_INTEGER)).toThrow('window_seconds')
  const app = new Hono()
  app.use(limitedBy(LONGEST_WINDOW_SECONDS))
  app.get('/', (c) => c.text('hello'))
  await expect.poll(async () => (await app.request('/')).status, SOON).toBe(429)
  expect(failures).not.toContain('error_reply')
})
