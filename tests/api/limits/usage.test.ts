import { expect, test } from 'vitest'
import type { Reading } from '../../../api/limits/core/counter.ts'
import type { LimitSettings } from '../../../api/limits/core/settings.ts'
import { limitedClientId, usage } from '../../../api/limits/usage.ts'
import { ruleOf } from '../../../schemas/limit-rule.ts'

test.each([
  ['ip:192.0.2.1', 'ip:192.0.2.1'],
  ['ip:2001:db8::1', 'ip:2001:db8::/64'],
  ['ip:2001:db8::/64', 'ip:2001:db8::/64'],
  ['ip:::ffff:192.0.2.1', 'ip:192.0.2.1'],
  ['ip:nowhere', 'ip:nowhere'],
  ['user:42', 'user:42'],
  ['acme', 'acme'],
])('the usage of %s is that of %s', (asked, counted) => {
  expect(limitedClientId(asked, false)).toBe(counted)
})

test('while memory is short, the usage of an IPv6 address is that of its /48 network, under which its requests are counted', () => {
  expect(limitedClientId('ip:2001:db8:1:2::1', true)).toBe('ip:2001:db8:1::/48')
  expect(limitedClientId('ip:192.0.2.1', true)).toBe('ip:192.0.2.1')
})

test('a bucket that takes longer to fill than dates can express has the latest possible reset time', async () => {
  const rule = ruleOf({ rule_id: 'year', endpoint_pattern: '*', limit_count: 1, window_seconds: 31_536_000, burst_allowance: 1_000_000 })
  const reading: Reading = { taken: 0, nowUs: 1_800_000_000_000_000, held: 0, heldBefore: 0 }
  const usages = usage({
    settings: { allRules: () => [rule] } as unknown as LimitSettings,
    counters: { decide: () => [reading] },
    forget: () => Promise.resolve(),
    isMemoryShort: () => false,
  })
  const expected = { rule_id: 'year', limit: 1, current: 1_000_001, window_resets_at: '+275760-09-13T00:00:00.000Z' }
  expect((await usages.read('user:42')).rules).toEqual([expected])
})
