import { expectTypeOf, test } from 'vitest'
import type { LimitRule } from '../../schemas/limit-rule.ts'
import type { LimitRule as LimitRuleRecord } from '../../schemas/limits/types.ts'

test('the type of a rate-limit rule equals the type that is generated from its Avro schema', () => {
  expectTypeOf<LimitRule>().toEqualTypeOf<LimitRuleRecord>()
})
