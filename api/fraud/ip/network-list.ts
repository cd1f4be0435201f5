import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'

/** A set of networks. */
export interface NetworkList {
  /** @param address IPv4 or IPv6 */
  includes(address: string): boolean
}

const BITS = { ipv4: 32, ipv6: 128 } as const
/**
 * Prefix of IPv6 addresses that contain an IPv4 address (::ffff:0:0/96). All addresses are compared as IPv6
 * addresses.
 */
const MAPPED = 0xffff00000000n
const COMMENT = '#'
const GROUPS = 8
const GROUP_BITS = 16n
const BYTE_BITS = 8n

/**
 * Reads a file with one address or CIDR range per line. Empty lines and text after `#` are ignored.
 * @throws Error that names the file and, if the file can be read, the first invalid line
 */
export function readNetworkList(file: string): NetworkList {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`the network list ${file} cannot be read (${(error as Error).message})`)
  }
  const ranges = text.split('\n').flatMap((line, index) => {
    const network = line.split(COMMENT, 1)[0].trim()
    if (network === '') return []
    const range = rangeOf(network)
    if (range === undefined) throw new Error(`line ${index + 1} of ${file} is neither an address nor a CIDR range`)
    return [range]
  })
  return networkList(ranges)
}

interface Range {
  readonly first: bigint
  readonly last: bigint
}

/**
 * Creates a list that finds an address by binary search, because lists of networks have tens of thousands of ranges.
 */
function networkList(ranges: readonly Range[]): NetworkList {
  const merged: { first: bigint; last: bigint }[] = []
  for (const { first, last } of [...ranges].sort((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = merged.at(-1)
    if (before === undefined || first > before.last + 1n) merged.push({ first, last })
    else if (last > before.last) before.last = last
  }

  return {
    includes(address) {
      const number = numberOf(address)
      if (number === undefined) return false
      let low = 0
      let high = merged.length
      while (low < high) {
        const middle = (low + high) >>> 1
        if (merged[middle].last < number) low = middle + 1
        else high = middle
      }
      return low < merged.length && merged[low].first <= number
    },
  }
}

function rangeOf(network: string): Range | undefined {
  const [address, bits, ...rest] = network.split('/')
  const number = numberOf(address)
  const most = isIPv4(address) ? BITS.ipv4 : BITS.ipv6
  if (number === undefined || rest.length > 0) return undefined
  if (bits === undefined) return { first: number, last: number }
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return undefined
  const size = 1n << BigInt(most - Number(bits))
  const first = number - (number % size)
  return { first, last: first + size - 1n }
}

function numberOf(address: string): bigint | undefined {
  if (isIPv4(address)) return MAPPED + address.split('.').reduce((sum, byte) => (sum << BYTE_BITS) + BigInt(byte), 0n)
  if (!isIPv6(address)) return undefined
  const [head, tail] = new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: GROUPS - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << GROUP_BITS) + BigInt(`0x${group}`), 0n)
}
