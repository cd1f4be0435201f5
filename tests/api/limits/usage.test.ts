import { expect, test } from 'vitest'
import { limitedClientId } from '../../../api/limits/usage.ts'

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
