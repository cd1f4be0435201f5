import { expect, test } from 'vitest'
import { compileRules } from '../../../api/limits/core/matching.ts'
import { CATALOG_LIMITS } from '../../../schemas/catalog/limits.ts'

/** Returns the keys of the counters that a new product increments. */
function countersOf(clientId: string, userId: string): string[] {
  const caller = { clientId, tier: 'free', apiKeyId: clientId, userId, ip: '192.0.2.1' }
  const rules = compileRules(CATALOG_LIMITS).match('POST', '/api/v1/seller/products', caller)
  return rules.map((rule) => rule.counterFor(caller).key)
}

test('new products are counted per seller, regardless of the client that sends them', () => {
  expect(countersOf('shop', '1')).toHaveLength(1)
  expect(countersOf('user:1', '1')).toEqual(countersOf('shop', '1'))
  expect(countersOf('shop', '2')).not.toEqual(countersOf('shop', '1'))
})
