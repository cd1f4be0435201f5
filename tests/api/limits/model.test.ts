import { expect, test } from 'vitest'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { CheckBody, NewKeyBody, NewRuleBody, RuleBody, RuleSchema, ruleJson } from '../../../api/limits/model.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'

test('a rule for a path that no service limits is shown with a warning', () => {
  const paths = limitedPaths(['/api/v1/*'])
  const shown = (endpoint_pattern: string) =>
    RuleSchema.parse(ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths))
  expect(shown('POST /api/v1/urls').warnings).toEqual([])
  expect(shown('GET /checkout').warnings).toEqual([expect.stringContaining('/api/v1/rate-limits/check')])
})

test('a rule is shown with a warning if requests to its exact path count as requests to another path', () => {
  const paths = limitedPaths(['/api/v1/*', '/v1/blocks/*', '/shop'])
  paths.addRoute({ method: 'POST', path: '/api/v1/urls', countsAs: undefined })
  paths.addRoute({ method: 'POST', path: '/api/v1/urls/bulk', countsAs: '/api/v1/urls' })
  paths.addRoute({ method: 'DELETE', path: '/api/v1/urls/{short_code}', countsAs: '/api/v1/urls/{short_code}' })
  paths.addRoute({ method: 'GET', path: '/api/v1/urls/{short_code}/stats', countsAs: '/api/v1/urls/{short_code}/stats' })
  paths.addRoute({ method: 'PUT', path: '/v1/blocks/{user_id}', countsAs: undefined })
  paths.addRoute({ method: 'GET', path: '/shop/products/{product_id}', countsAs: '/shop' })
  paths.addRoute({ method: 'GET', path: '/free/{id}', countsAs: undefined })
  const warnings = (endpoint_pattern: string) =>
    ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths).warnings
  const warning = (pattern: string) => [expect.stringContaining(`use the pattern ${pattern}.`)]
  expect(warnings('/api/v1/urls/abc/stats')).toEqual(warning('/api/v1/urls/{short_code}/stats'))
  expect(warnings('GET /api/v1/urls/abc/stats')).toEqual(warning('GET /api/v1/urls/{short_code}/stats'))
  // An earlier release stored patterns without normalising them.
  expect(warnings('/api/v1/%75rls/bulk')).toEqual(warning('/api/v1/urls'))
  expect(warnings('POST /api/v1/urls/bulk')).toEqual(warning('POST /api/v1/urls'))
  expect(warnings('/api/v1/urls/bulk')).toEqual(warning('/api/v1/urls'))
  expect(warnings('PUT /v1/blocks/{user_id}')).toEqual(warning('PUT /v1/blocks/*'))
  // The rule's own path is not limited, but requests to it count as requests to /shop, which is limited.
  expect(warnings('GET /shop/products/1')).toEqual(warning('GET /shop'))
  expect(warnings('/free/{id}')).toEqual([expect.stringContaining('limits no path')])
  // The value of a path parameter is never empty, so this path belongs to no endpoint. The rule still applies, because
  // requests to unknown paths are counted.
  expect(warnings('/api/v1/urls/')).toEqual([])
  const applying = ['/api/v1/urls', '/api/v1/urls/{short_code}', 'GET /api/v1/urls/{short_code}/stats', '/api/v1/urls/*', '*']
  for (const pattern of [...applying, '/v1/blocks/5', 'GET /api/v1/nothing']) expect([pattern, warnings(pattern)]).toEqual([pattern, []])
})

test.each(['.', '..'])('a rule or a client with the id %s is refused, because HTTP clients cannot send such a path segment', (id) => {
  const pattern = { endpoint_pattern: '/api/v1/things' }
  const idOf = (rule_id: string) => NewRuleBody.safeParse({ rule_id, match: pattern, limit: 1, window_seconds: 60 }).success
  const clientOf = (client_id: string) => NewKeyBody.safeParse({ client_id }).success
  expect([idOf(id), clientOf(id)]).toEqual([false, false])
  expect([idOf(`${id}a`), clientOf(`${id}a`), idOf('...')]).toEqual([true, true, true])
})

test('a rule for HEAD is refused, because HEAD counts as GET and the rule would never apply', () => {
  const draft = (endpoint_pattern: string) => RuleBody.safeParse({ match: { endpoint_pattern }, limit: 1, window_seconds: 60 })
  expect(draft('HEAD /a').error?.issues).toMatchObject([{ message: expect.stringContaining('GET') }])
  expect(draft('GET /a').success).toBe(true)
})

test('the encoding of a pattern is normalised like that of a checked path, so that the rule applies', () => {
  const stored = (endpoint_pattern: string) =>
    RuleBody.parse({ match: { endpoint_pattern }, limit: 1, window_seconds: 60 }).match.endpoint_pattern
  expect(stored('GET /a/%7Euser/*')).toBe('GET /a/~user/*')
  expect(stored('/f%c3%bcr')).toBe('/f%C3%BCr')
  expect(stored('/a%2fb')).toBe('/a%2Fb')
  expect(stored('POST /für/*')).toBe('POST /f%C3%BCr/*')
  expect(stored('/%7Bid%7D/%2a')).toBe('/{id}/%2A')
})

test('the numbers of a rule have documented bounds and defaults', () => {
  const match = { endpoint_pattern: '/a' }
  const isRule = (fields: object) => RuleBody.safeParse({ match, limit: 1, window_seconds: 1, ...fields }).success
  const most = 2_147_483_647
  for (const fields of [{ limit: most }, { limit: 1, burst_allowance: most - 1 }, { window_seconds: 31_536_000 }])
    expect([fields, isRule(fields)]).toEqual([fields, true])
  const wrong = [
    { limit: 0 },
    { limit: most + 1 },
    { limit: 2, burst_allowance: most - 1 },
    { burst_allowance: -1 },
    { window_seconds: 0 },
    { window_seconds: 31_536_001 },
    { match: { ...match, key: [] } },
    { match: { ...match, key: ['users'] } },
  ]
  for (const fields of wrong) expect([fields, isRule(fields)]).toEqual([fields, false])
  expect(RuleBody.parse({ match, limit: 1, window_seconds: 1 })).toEqual({
    match: { ...match, tier: '*', key: ['client'] },
    limit: 1,
    window_seconds: 1,
    action: 'reject',
    burst_allowance: 0,
  })
})

test('the id of a client with a key must not look like the id of a caller without a key, such as user:42', () => {
  const isClient = (client_id: string) => NewKeyBody.safeParse({ client_id }).success
  for (const id of ['user:42', 'certificate:gateway', 'ip:192.0.2.1', 'a b', 'c'.repeat(101), ''])
    expect([id, isClient(id)]).toEqual([id, false])
  for (const id of ['users:42', 'ops@example.com', 'c'.repeat(100)]) expect([id, isClient(id)]).toEqual([id, true])
  expect(NewKeyBody.parse({ client_id: 'acme' })).toEqual({ client_id: 'acme', tier: 'free', label: '' })
})

test('a gateway must name the caller by key, user or address, and a check counts as 1 to 1,000 requests', () => {
  const isCheck = (fields: object) => CheckBody.safeParse({ method: 'GET', path: '/a', ...fields }).success
  expect(isCheck({})).toBe(false)
  for (const fields of [{ api_key: 'k' }, { user_id: '42' }, { ip: '192.0.2.1' }]) expect(isCheck(fields)).toBe(true)
  expect([0, 1, 1_000, 1_001].map((cost) => isCheck({ user_id: '42', cost }))).toEqual([false, true, true, false])
  expect(CheckBody.parse({ method: 'GET', path: '/a', user_id: '42' }).cost).toBe(1)
})

test('a check accepts every HTTP method, a long query and a long key, because clients may send them', () => {
  const parsed = (fields: object) => CheckBody.parse({ method: 'GET', path: '/a', user_id: '42', ...fields })
  for (const method of ['M-SEARCH', 'UNSUBSCRIBE', 'X']) expect(parsed({ method }).method).toBe(method)
  expect(parsed({ method: 'get' }).method).toBe('GET')
  parsed({ path: `/a?q=${'x'.repeat(10_000)}`, api_key: 'x'.repeat(10_000) })
  expect(CheckBody.safeParse({ method: 'GET /', path: '/a', user_id: '42' }).success).toBe(false)
})
