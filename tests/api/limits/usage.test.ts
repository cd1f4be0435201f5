import { expect, test } from 'vitest'
import type { Ask, Reading } from '../../../api/limits/core/counter.ts'
import type { LimitSettings } from '../../../api/limits/core/settings.ts'
import { limitedClientId, usage } from '../../../api/limits/usage.ts'
import { type LimitRule, ruleOf } from '../../../schemas/limit-rule.ts'

test.each([
  ['ip:192.0.2.1', 'ip:192.0.2.1'],
  ['ip:2001:db8::1', 'ip:2001:db8::/64'],
  ['ip:2001:db8::/64', 'ip:2001:db8::/64'],
  ['ip:::ffff:192.0.2.1', 'ip:192.0.2.1'],
  ['ip:nowhere', 'ip:nowhere'],
  ['user:42', 'user:42'],
  ['acme', 'acme'],
])('a request for the usage of %s reads the counters of %s', (asked, counted) => {
  expect(limitedClientId(asked, false)).toBe(counted)
})

test('while memory is short, the usage of an IPv6 address is that of its /48 network, under which its requests are counted', () => {
  expect(limitedClientId('ip:2001:db8:1:2::1', true)).toBe('ip:2001:db8:1::/48')
  expect(limitedClientId('ip:192.0.2.1', true)).toBe('ip:192.0.2.1')
})

test('the usage of a client includes each counter that counts only its own requests, and no counter that it shares with other callers', async () => {
  const rule = (rule_id: string, more: Partial<LimitRule> = {}) =>
    ruleOf({ rule_id, endpoint_pattern: '*', limit_count: 10, window_seconds: 60, ...more })
  const rules = [
    rule('client'),
    rule('client-endpoint', { key: ['client', 'endpoint'] }),
    rule('pro', { tier: 'pro' }),
    rule('enterprise', { tier: 'enterprise' }),
    rule('key', { key: ['api_key'] }),
    rule('user', { key: ['user'] }),
    rule('address', { key: ['ip'] }),
    rule('client-address', { key: ['client', 'ip'] }),
    rule('all', { key: ['endpoint'] }),
    rule('deleted', { is_active: false }),
  ]
  const keys = [
    { client_id: 'acme', key_id: 'k1', tier: 'free' },
    { client_id: 'acme', key_id: 'k2', tier: 'pro' },
    { client_id: 'other', key_id: 'k3', tier: 'enterprise' },
  ]
  const peeked: Ask[] = []
  const usages = usage({
    settings: { allRules: () => rules, allClients: () => keys } as unknown as LimitSettings,
    counters: {
      decide(asks) {
        peeked.push(...asks)
        return asks.map(() => ({ taken: 0, nowUs: 30_000_000, held: 3, heldBefore: 1 }))
      },
    },
    forget: () => Promise.resolve(),
    isMemoryShort: () => false,
  })
  const idsOf = async (client: string) => (await usages.read(client)).rules.map(({ rule_id }) => rule_id)
  expect(await idsOf('acme')).toEqual(['client', 'client-endpoint', 'pro', 'key', 'key'])
  expect(await idsOf('user:42')).toEqual(['client', 'client-endpoint', 'user'])
  expect(await idsOf('certificate:gateway')).toEqual(['client', 'client-endpoint'])
  expect(await idsOf('ip:192.0.2.1')).toEqual(['client', 'client-endpoint', 'address', 'client-address'])
  await expect(idsOf('nobody')).rejects.toThrow('does not exist')
  // Half of the window has passed, so the estimate is 3 + 1 / 2 = 3.5, which is rounded up.
  expect((await usages.read('user:42')).rules[0]).toMatchObject({ current: 4, window_resets_at: '1970-01-01T00:01:00.000Z' })
  expect(peeked.every(({ units }) => units === 0)).toBe(true)
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
