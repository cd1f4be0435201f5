import { expect, test } from 'vitest'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { RuleSchema, ruleJson } from '../../../api/limits/model.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'

test('a rule for a path that no service limits is shown with a warning', () => {
  const paths = limitedPaths(['/api/v1/*'])
  const shown = (endpoint_pattern: string) =>
    RuleSchema.parse(ruleJson(ruleOf({ rule_id: 'r', endpoint_pattern, limit_count: 1, window_seconds: 60 }), paths))
  expect(shown('POST /api/v1/urls').warnings).toEqual([])
  expect(shown('GET /checkout').warnings).toEqual([expect.stringContaining('/api/v1/rate-limits/check')])
})
