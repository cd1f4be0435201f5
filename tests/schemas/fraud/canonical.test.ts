import { isIPv4 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalEmail, canonicalId, canonicalIp, canonicalPhone } from '../../../schemas/fraud/canonical.ts'

const GROUPS = 8
/** An IPv6 address as its eight groups of 16 bits. Many groups are 0, so that runs of zeros occur. */
const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: GROUPS, maxLength: GROUPS })

test('ids are compared without surrounding white space', () => {
  expect(canonicalId(' u 1\n')).toBe('u 1')
  expect(canonicalId('U1')).not.toBe(canonicalId('u1'))
})

test('e-mail addresses are compared without regard to case, surrounding white space or Unicode normalization', () => {
  expect(canonicalEmail(' Jos\u00e9@Example.COM ')).toBe('jos\u00e9@example.com')
  expect(canonicalEmail('Jose\u0301@example.com')).toBe('jos\u00e9@example.com')
})

test('phone numbers are compared without grouping characters', () => {
  expect(canonicalPhone(' +49 (0)170/123-45.6 ')).toBe('+490170123456')
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  [' 192.0.2.1\t', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:7f00:1', '127.0.0.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::', '::'],
])('the IP address %j is compared as %s', (address, canonical) => {
  expect(canonicalIp(address)).toBe(canonical)
})

test.each(['', 'localhost', '192.0.2', '192.0.2.01', '192.0.2.256', '192.0.2.1/24', '[::1]', '::1::', '12345::'])(
  '%j is not an IP address',
  (text) => {
    expect(canonicalIp(text)).toBeUndefined()
  },
)

test('a text of 200,000 characters is not an IP address, and is refused within two seconds', () => {
  const start = process.cpuUsage()
  expect(canonicalIp(`${'%'.repeat(200_000)}\n1`)).toBeUndefined()
  const { user, system } = process.cpuUsage(start)
  // The limit can be generous, because a search that began again at each `%` would take tens of seconds.
  expect((user + system) / 1_000_000).toBeLessThan(2)
})

test('long and short spellings of an IPv6 address have one canonical form, and different addresses have different canonical forms', () => {
  fc.assert(
    fc.property(groups, groups, fc.integer({ min: 0, max: GROUPS - 1 }), (one, other, at) => {
      const long = one.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':')
      const shorter = withoutZerosFrom(one, at)
      expect(canonicalIp(long)).toBe(canonicalIp(shorter))
      expect(canonicalIp(canonicalIp(long)!)).toBe(canonicalIp(long))
      expect(canonicalIp(long) === canonicalIp(other.map((group) => group.toString(16)).join(':'))).toBe(`${one}` === `${other}`)
    }),
  )
})

test('an IPv4 address has the same canonical form when it is mapped into IPv6', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(canonicalIp(`::ffff:${address}`)).toBe(address)
      expect(canonicalIp(address)).toBe(address)
      expect(isIPv4(canonicalIp(address)!)).toBe(true)
    }),
  )
})

test('canonicalizing a canonical form does not change it', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.emailAddress()), (text) => {
      for (const canonical of [canonicalId, canonicalEmail, canonicalPhone]) expect(canonical(canonical(text))).toBe(canonical(text))
    }),
  )
})

/** Returns an address with `::` in place of the run of zeros that begins at the given group, if that group is 0. */
function withoutZerosFrom(groups: readonly number[], at: number): string {
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':')
  let end = at
  while (groups[end] === 0) end++
  return end === at ? hex(groups) : `${hex(groups.slice(0, at))}::${hex(groups.slice(end))}`
}
