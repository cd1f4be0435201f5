import { createHmac, hash } from 'node:crypto'
import { DAY_MS } from './time.ts'

/** 64 bits: among a billion visitors of a link, three in a hundred runs see a pair that collides. */
const HASH_DIGITS = 16
/** Clicks around midnight come in any order; a backlog has few days. */
const KEPT_SALTS = 8

/**
 * Tells visitors apart without their addresses: the same address and browser give the same hash for one UTC day, and another one the day after.
 * The salt of a day is HMAC-SHA-256(secret, day): every worker has the same without asking, a replay gives the same hashes, and whoever does
 * not have the secret can neither try addresses out nor follow a visitor over midnight.
 * @returns 16 hexadecimal digits
 */
export function visitorHasher(secret: string): (time: number, ip: string, userAgent: string) => string {
  const salts = new Map<number, string>()

  function saltOf(day: number): string {
    const known = salts.get(day)
    if (known !== undefined) return known
    const salt = createHmac('sha256', secret).update(`visitor-salt ${day}`).digest('base64')
    if (salts.size >= KEPT_SALTS) salts.delete(salts.keys().next().value as number)
    salts.set(day, salt)
    return salt
  }

  return function hashVisitor(time, ip, userAgent) {
    // The address has no space in it, so that no two visitors make the same text.
    return hash('sha256', `${saltOf(Math.floor(time / DAY_MS))} ${ip} ${userAgent}`, 'hex').slice(0, HASH_DIGITS)
  }
}
