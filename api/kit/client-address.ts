import { BlockList, isIP, isIPv4 } from 'node:net'
import type { Context } from 'hono'

/** Addresses of proxies that are believed when they say for whom they ask. */
export interface TrustedProxies {
  includes(address: string): boolean
}

/** An IPv6 customer gets a /64 at least: single addresses are free. */
const IPV6_PREFIX_GROUPS = 4
const IPV6_GROUPS = 8
/** Longer chains are nobody's proxies. */
const MAX_HOPS = 20
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** Proxies of this machine. */
export const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1/128']

export function isAddressRange(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const most = isIPv4(address) ? 32 : 128
  return isIP(address) !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
}

/** @param ranges addresses or CIDR ranges. Throws an Error that names a wrong one. */
export function trustedProxies(ranges: readonly string[]): TrustedProxies {
  const list = new BlockList()
  for (const range of ranges) {
    if (!isAddressRange(range)) throw new Error(`${range} is no address and no CIDR range`)
    const [address, bits] = range.split('/')
    const type = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return { includes: (address) => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6') }
}

/**
 * Who asks: the connection's other end, or, where that is a trusted proxy, the nearest address of X-Forwarded-For that is none.
 * What a caller writes there itself stands further left and is never reached.
 * @param remote the socket's address; undefined when it is gone
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

/** Whether the connection's other end is believed in what it says of its clients. */
export function isFromProxy(remote: string | undefined, trusted: TrustedProxies): boolean {
  const address = plainAddress(remote ?? '')
  return address !== undefined && trusted.includes(address)
}

/** The connection's other end, where the server is Node's. */
export function remoteAddress(c: Context): string | undefined {
  return c.env?.incoming?.socket?.remoteAddress
}

const UNKNOWN_ADDRESS = '0.0.0.0'

/** Without brackets, port and zone; IPv4 in IPv6 as IPv4. @returns undefined when the text is no address */
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

/** What an address is limited by: IPv4 as it is, IPv6 as its /64 in its shortest form. */
export function limitedAddress(address: string): string {
  if (!address.includes(':')) return address
  const groups = expanded(address).slice(0, IPV6_PREFIX_GROUPS)
  while (groups.length > 0 && groups[groups.length - 1] === 0) groups.pop()
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

function expanded(address: string): number[] {
  const [left, right] = address.split('::')
  const head = groupsOf(left)
  if (right === undefined) return head
  const tail = groupsOf(right)
  return [...head, ...Array.from({ length: IPV6_GROUPS - head.length - tail.length }, () => 0), ...tail]
}

/** The last group may be an IPv4 address, which stands for two. */
function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a, b, c, d] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
