import { expect, test } from 'vitest'
import { addressRanges, clientAddress, limitedAddress } from '../../../api/kit/client-address.ts'

const trusted = addressRanges(['127.0.0.0/8', '::1', '10.0.0.0/8', '2001:db8:ffff::/48'])

test.each([
  ['no proxy', '203.0.113.9', undefined, '203.0.113.9'],
  ['a caller from outside that forges the header', '203.0.113.9', '1.1.1.1', '203.0.113.9'],
  ['a trusted proxy', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['a trusted proxy, and a header that the caller sent', '127.0.0.1', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
  ['two trusted proxies', '10.0.0.2', '1.1.1.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
  ['a caller inside', '127.0.0.1', '10.9.9.9', '10.9.9.9'],
  ['an invalid last entry', '127.0.0.1', '1.1.1.1, unknown', '127.0.0.1'],
  ['an invalid entry before a trusted proxy', '127.0.0.1', 'x, 10.1.1.1', '10.1.1.1'],
  ['an empty header', '127.0.0.1', '', '127.0.0.1'],
  ['IPv4 in IPv6', '::ffff:127.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
  ['a port', '127.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
  ['IPv6 with a port', '::1', '[2001:db8::1]:4711', '2001:db8::1'],
  ['an IPv6 proxy', '2001:db8:ffff:1::1', '2001:db8::1', '2001:db8::1'],
  ['a closed socket', undefined, '203.0.113.9', '0.0.0.0'],
  ['a very long chain', '127.0.0.1', `${'1.1.1.1,'.repeat(1_000)}203.0.113.9`, '203.0.113.9'],
])('the address of the caller is found: %s', (_what, remote, header, expected) => {
  expect(clientAddress(remote, header, trusted)).toBe(expected)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8::/64'],
  ['2001:db8:0:0:1::', '2001:db8::/64'],
  ['2001:0:0:7::1', '2001:0:0:7::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b::/64'],
  ['::1', '::/64'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:c000:201', '192.0.2.1'],
  ['::fffe:192.0.2.1', '::/64'],
])('rate limits count %s as %s', (address, expected) => {
  expect(limitedAddress(address)).toBe(expected)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8::/48'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
])('if rate limits count by wider networks, they count %s as %s', (address, expected) => {
  expect(limitedAddress(address, true)).toBe(expected)
})

test.each(['nonsense', '10.0.0.0/x', '10.0.0.0/'])('the range %j is refused with a message that names it', (range) => {
  expect(() => addressRanges([range])).toThrow(range)
})
