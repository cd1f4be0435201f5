import { createHmac, hash } from 'node:crypto'
import { DAY_MS } from './time.ts'

/**
 * Number of hexadecimal digits of a hash; 16 digits are 64 bits. If a link has a billion visitors, the probability of
 * any collision among them is three percent.
 */
const HASH_DIGITS = 16
/**
 * Number of cached salts. There is one salt per day. Around midnight, clicks of two days arrive in any order, and a
 * backlog may contain clicks of a few days.
 */
const KEPT_SALTS = 8

/**
 * Identifies visitors without storing addresses. The same address and browser have the same hash for one UTC day, and a
 * different hash on the next day. The salt of a day is HMAC-SHA-256(secret, day), so all workers derive the same salt,
 * and a replay gives the same hashes. An attacker without the secret cannot test whether a hash belongs to an address,
 * and cannot recognise a visitor on the next day.
 * @returns a function that returns 16 hexadecimal digits
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
    // Neither the salt nor an address contains spaces, so the combined text is unambiguous.
    return hash('sha256', `${saltOf(Math.floor(time / DAY_MS))} ${ip} ${userAgent}`, 'hex').slice(0, HASH_DIGITS)
  }
}
