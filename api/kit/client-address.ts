import { BlockList, isIP, isIPv4, type Socket } from 'node:net'
import type { Context } from 'hono'

/** A set of addresses, for example the addresses of an operator's gateways. */
export interface AddressRanges {
  includes(address: string): boolean
}

/** Proxies whose `X-Forwarded-For` the app trusts. */
export type TrustedProxies = AddressRanges

/**
 * Number of 16-bit groups in a /64. IPv6 callers are normally counted by this prefix, because a customer with IPv6 has
 * at least one /64 and can switch between its addresses.
 */
const IPV6_PREFIX_GROUPS = 4
/** Number of 16-bit groups in a /48, the largest network that a customer usually gets. */
const WIDE_PREFIX_GROUPS = 3
const BITS_PER_GROUP = 16
const IPV6_GROUPS = 8
/** Maximum number of entries of X-Forwarded-For that are read. No real chain of proxies is longer. */
const MAX_HOPS = 20
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** The first six groups of an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). The last two are the IPv4 address. */
const MAPPED_GROUPS = [0, 0, 0, 0, 0, 0xffff]

/** The loopback networks. Only this machine can reach their addresses. */
export const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1/128']

const thisMachine = addressRanges(LOOPBACK)

/**
 * Returns whether only this machine can reach a server that listens on the host.
 * @param host a name or an address, with or without the brackets that URLs require for IPv6
 */
export function isLoopbackHost(host: string): boolean {
  const address = plainAddress(host)
  return address === undefined ? host.toLowerCase() === 'localhost' : thisMachine.includes(address)
}

export function isAddressRange(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const most = isIPv4(address) ? 32 : 128
  return isIP(address) !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
}

/**
 * Creates a set of addresses.
 * @param ranges addresses or CIDR ranges
 * @throws Error that names an invalid range
 */
export function addressRanges(ranges: readonly string[]): AddressRanges {
  const list = new BlockList()
  for (const range of ranges) {
    if (!isAddressRange(range)) throw new Error(`${range} is neither an address nor a CIDR range`)
    const [address, bits] = range.split('/')
    const type = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return { includes: (address) => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6') }
}

/**
 * Finds the client of a request. The client is the peer of the connection, unless the peer is a trusted proxy. In that
 * case, the entries of X-Forwarded-For are read from right to left, and the client is the first address that is not a
 * trusted proxy. If the header ends earlier, or an entry is not an address, the client is the trusted proxy that was
 * read last. Proxies append to the header, so addresses that a client forges are further left and are never used.
 * @param remote the socket's address; undefined if the socket is closed
 * @returns the address; 0.0.0.0 if the socket is closed
 */
export function clientAddress(remote: string | undefined, forwardedFor: string | undefined, trusted: TrustedProxies): string {
  let address = plainAddress(remote ?? '')
  if (address === undefined) return UNKNOWN_ADDRESS
  const hops = forwardedFor === undefined ? [] : forwardedFor.split(',').slice(-MAX_HOPS)
  while (hops.length > 0 && trusted.includes(address)) {
    const next = plainAddress(hops.pop()!)
    if (next === undefined) break
    address = next
  }
  return address
}

/**
 * Returns whether the peer of the connection has one of the addresses.
 * @param remote the socket's address; undefined if the socket is closed
 */
export function isFrom(remote: string | undefined, ranges: AddressRanges): boolean {
  const address = plainAddress(remote ?? '')
  return address !== undefined && ranges.includes(address)
}

/**
 * Returns the address of the connection's peer; undefined if the socket is closed, or if the app does not run on Node's
 * server.
 */
export function remoteAddress(c: Context): string | undefined {
  return socketOf(c)?.remoteAddress
}

/** Returns the request's socket; undefined if the app does not run on Node's server. */
export function socketOf(c: Context): Socket | undefined {
  return c.env?.incoming?.socket
}

const UNKNOWN_ADDRESS = '0.0.0.0'

/**
 * Removes brackets, port and zone, and unwraps IPv4-mapped IPv6.
 * @returns undefined if the text is not an address
 */
function plainAddress(text: string): string | undefined {
  let address = text.trim()
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(address)
  if (bracketed !== null) address = bracketed[1]
  else if (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)) address = address.slice(0, address.indexOf(':'))
  address = address.replace(/%.*$/, '')
  const mapped = MAPPED.exec(address)
  if (mapped !== null) address = mapped[1]
  return isIP(address) === 0 ? undefined : address
}

/**
 * Returns the address that rate limits count a caller under: IPv4 unchanged, and IPv6 as its /64 or /48 in a short
 * form. An IPv4-mapped IPv6 address is treated as IPv4, because all such addresses share one /64.
 * @param isWide whether to count IPv6 callers by /48 instead of /64, so that a customer with many /64 networks cannot
 * fill the memory of the counters
 */
export function limitedAddress(address: string, isWide = false): string {
  if (!address.includes(':')) return address
  const size = isWide ? WIDE_PREFIX_GROUPS : IPV6_PREFIX_GROUPS
  const all = expanded(address)
  if (MAPPED_GROUPS.every((group, index) => all[index] === group)) return dotted(all[6], all[7])
  const groups = all.slice(0, size)
  while (groups.length > 0 && groups[groups.length - 1] === 0) groups.pop()
  return `${groups.map((group) => group.toString(16)).join(':')}::/${size * BITS_PER_GROUP}`
}

function expanded(address: string): number[] {
  const [left, right] = address.split('::')
  const head = groupsOf(left)
  if (right === undefined) return head
  const tail = groupsOf(right)
  return [...head, ...Array.from({ length: IPV6_GROUPS - head.length - tail.length }, () => 0), ...tail]
}

/** Formats the last two groups of an IPv4-mapped IPv6 address as an IPv4 address. */
function dotted(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

/** Splits an IPv6 address into groups. An IPv4 address as the last part counts as two groups. */
function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a, b, c, d] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
