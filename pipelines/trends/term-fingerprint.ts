import { mixed } from './mixed.ts'

const TWO_32 = 2 ** 32
const LOW_START = 0x811c9dc5
const HIGH_START = 0x9747b28c
const LOW_FACTOR = 0x01000193
const HIGH_FACTOR = 0x5bd1e995
const HIGH_ADDEND = 0x1b873593

/**
 * Returns 53 bits that identify a term among those of one user: two variants of FNV-1a over the term's UTF-16 code
 * units.
 */
export function fingerprintOf(term: string): number {
  let low = LOW_START
  let high = HIGH_START
  for (let i = 0; i < term.length; i++) {
    const unit = term.charCodeAt(i)
    low = Math.imul(low ^ unit, LOW_FACTOR)
    high = Math.imul(high ^ unit, HIGH_FACTOR) + HIGH_ADDEND
  }
  return joined(low, high)
}

/** Computes the same fingerprint from a term in ASCII bytes. */
export function fingerprintOfAscii(bytes: Uint8Array, start: number, end: number): number {
  let low = LOW_START
  let high = HIGH_START
  for (let at = start; at < end; at++) {
    low = Math.imul(low ^ bytes[at], LOW_FACTOR)
    high = Math.imul(high ^ bytes[at], HIGH_FACTOR) + HIGH_ADDEND
  }
  return joined(low, high)
}

/** Joins two hashes into one number. The high half has 21 bits, so that the result is a safe integer. */
function joined(low: number, high: number): number {
  return (mixed(high) >>> 11) * TWO_32 + (mixed(low) >>> 0)
}
