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

test.each(['.', '..'])('a rule or a client with the id %s is refused, because no client can send such a path segment', (id) => {
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
