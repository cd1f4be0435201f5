import { expect, test } from 'vitest'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { RuleBody, RuleSchema, ruleJson } from '../../../api/limits/model.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'

test('a rule for a path that no service limits is shown with a warning', () => {
  const paths = limitedPaths(['/api/v1/*'])
  const shown = (endpoint_pattern: string) =>
    RuleSchema.parse(ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths))
  expect(shown('POST /api/v1/urls').warnings).toEqual([])
  expect(shown('GET /checkout').warnings).toEqual([expect.stringContaining('/api/v1/rate-limits/check')])
})

test('a rule for HEAD is refused, because HEAD counts as GET and the rule would never apply', () => {
  const draft = (endpoint_pattern: string) => RuleBody.safeParse({ match: { endpoint_pattern }, limit: 1, window_seconds: 60 })
  expect(draft('HEAD /a').error?.issues).toMatchObject([{ message: expect.stringContaining('GET') }])
  expect(draft('GET /a').success).toBe(true)
})
