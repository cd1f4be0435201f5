import { expectTypeOf, test } from 'vitest'
import type { LimitRule } from '../../schemas/limit-rule.ts'
import type { LimitRule as LimitRuleRecord } from '../../schemas/limits/types.ts'

test('a rule has the same fields as its Avro record', () => {
  expectTypeOf<LimitRule>().toEqualTypeOf<LimitRuleRecord>()
})
