import { isIP, isIPv4 } from 'node:net'
import { normalised } from '../normalised.ts'

/** An IPv4 address mapped into IPv6, as `URL` writes it. */
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
const BITS_PER_BYTE = 8
const LOW_BYTE = 0xff

/** Returns the form in which the ids of users, devices, cards and merchants are compared. */
export function canonicalId(value: string): string {
  return value.trim()
}

/** Returns the form in which e-mail addresses are compared. This form ignores case, as nearly all mail servers do. */
export function canonicalEmail(value: string): string {
  return normalised(normalised(value.trim()).toLowerCase())
}

/** Returns the form in which phone numbers are compared: without the characters that only group the digits. */
export function canonicalPhone(value: string): string {
  return value.trim().replace(/[\s().\-\u2010-\u2015/]/g, '')
}

/**
 * Returns the form in which IP addresses are compared: IPv6 addresses as in RFC 5952, but without the zone, because a
 * zone is meaningful only on the machine that wrote it. IPv4 addresses that are mapped into IPv6 become plain IPv4
 * addresses.
 * @returns undefined if the value is not an IP address
 */
export function canonicalIp(value: string): string | undefined {
  const [address] = value.trim().split('%', 1)
  if (isIP(address) === 0) return undefined
  if (isIPv4(address)) return address
  const shortest = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const mapped = MAPPED.exec(shortest)
  return mapped === null ? shortest : mapped.slice(1).flatMap(bytesOf).join('.')
}

function bytesOf(group: string): number[] {
  const bits = Number.parseInt(group, 16)
  return [bits >> BITS_PER_BYTE, bits & LOW_BYTE]
}
