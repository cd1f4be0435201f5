import { expect, test } from 'vitest'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { NewKeyBody, NewRuleBody, RuleBody, RuleSchema, ruleJson } from '../../../api/limits/model.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'

test('a rule for a path that no service limits is shown with a warning', () => {
  const paths = limitedPaths(['/api/v1/*'])
  const shown = (endpoint_pattern: string) =>
    RuleSchema.parse(ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths))
  expect(shown('POST /api/v1/urls').warnings).toEqual([])
  expect(shown('GET /checkout').warnings).toEqual([expect.stringContaining('/api/v1/rate-limits/check')])
})

test('a rule is shown with a warning if requests to its exact path count as requests to another path', () => {
  const paths = limitedPaths(['/api/v1/*', '/v1/blocks/*'])
  paths.addRoute({ method: 'POST', path: '/api/v1/urls', countsAs: undefined })
  paths.addRoute({ method: 'POST', path: '/api/v1/urls/bulk', countsAs: '/api/v1/urls' })
  paths.addRoute({ method: 'DELETE', path: '/api/v1/urls/{short_code}', countsAs: '/api/v1/urls/{short_code}' })
  paths.addRoute({ method: 'GET', path: '/api/v1/urls/{short_code}/stats', countsAs: '/api/v1/urls/{short_code}/stats' })
  paths.addRoute({ method: 'PUT', path: '/v1/blocks/{user_id}', countsAs: undefined })
  const warnings = (endpoint_pattern: string) =>
    ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths).warnings
  const warning = (pattern: string) => [expect.stringContaining(`use the pattern ${pattern}.`)]
  expect(warnings('/api/v1/urls/abc/stats')).toEqual(warning('/api/v1/urls/{short_code}/stats'))
  expect(warnings('GET /api/v1/urls/abc/stats')).toEqual(warning('GET /api/v1/urls/{short_code}/stats'))
  expect(warnings('POST /api/v1/urls/bulk')).toEqual(warning('POST /api/v1/urls'))
  expect(warnings('/api/v1/urls/bulk')).toEqual(warning('/api/v1/urls'))
  expect(warnings('PUT /v1/blocks/{user_id}')).toEqual(warning('PUT /v1/blocks/*'))
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
