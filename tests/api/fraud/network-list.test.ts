import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openIpFacts } from '../../../api/fraud/ip/ip-facts.ts'
import { readNetworkList } from '../../../api/fraud/ip/network-list.ts'
import { guardedFolder } from '../../stack/folder.ts'

function file(text: string): string {
  const path = join(guardedFolder().path, 'networks.txt')
  writeFileSync(path, text)
  return path
}

test('addresses and ranges of both IP versions are found, and nothing else is', () => {
  const list = readNetworkList(file('# exits\n192.0.2.7\n\n198.51.100.0/24 # a provider\n198.51.100.128/25\n2001:db8:1::/48\n'))
  for (const inside of ['192.0.2.7', '198.51.100.0', '198.51.100.255', '2001:db8:1::', '2001:db8:1:ffff::1']) {
    expect([inside, list.includes(inside)]).toEqual([inside, true])
  }
  for (const outside of ['192.0.2.6', '192.0.2.8', '198.51.99.255', '198.51.101.0', '2001:db8::', '2001:db8:2::', '::1', 'x']) {
    expect([outside, list.includes(outside)]).toEqual([outside, false])
  }
})

test('an empty list contains nothing', () => {
  expect(readNetworkList(file('')).includes('192.0.2.7')).toBe(false)
})

test.each(['192.0.2', '192.0.2.0/33', '2001:db8::/129', '192.0.2.0/24/1', '192.0.2.0/'])(
  'the error for an invalid line contains the number of the line: %s',
  (line) => {
    expect(() => readNetworkList(file(`\n${line}\n`))).toThrow(/^line 2 of .* is neither an address nor a CIDR range$/)
  },
)

test('without a file, is_tor and is_datacenter are null, and the country comes from the bundled database', () => {
  const factsOf = openIpFacts({ countries: undefined, vpn: file('192.0.2.0/24\n'), tor: undefined, datacenter: undefined })
  expect(factsOf('192.0.2.1')).toEqual({ geo_country: null, is_vpn: true, is_tor: null, is_datacenter: null })
  expect(factsOf('8.8.8.8')).toEqual({ geo_country: 'US', is_vpn: false, is_tor: null, is_datacenter: null })
  expect(factsOf(null)).toEqual({ geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null })
})
