const HIGH_BITS = 0xffff
const TWO_TO_32 = 2 ** 32

/**
 * Returns a 48-bit hash of a string. A double represents it exactly. At most 768 transactions of an entity are compared
 * by their hashes: 512 in its profile and 256 in flight. The probability that two of them share a hash is 1e-9. The
 * hash is fast but not cryptographic. A caller who chooses ids with equal hashes gains nothing, because the caller
 * could just as well send equal ids.
 */
export function hash48(text: string): number {
  let low = 0x9e3779b1
  let high = 0x85ebca77
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 0x2c1b3c6d)
    low ^= low >>> 15
    high = Math.imul(high ^ unit, 0x297a2d39)
    high ^= high >>> 13
  }
  low = mix(low ^ text.length) ^ Math.imul(high, 0x5bd1e995)
  high = mix(high) ^ low
  return (mix(high) & HIGH_BITS) * TWO_TO_32 + (mix(low) >>> 0)
}

/** Returns a 32-bit hash of an entity's id. This hash identifies the entity in the profiles of other entities. */
export function hash32(text: string): number {
  return hash48(text) >>> 0
}

/** Mixes the bits of a number with the finalizer of MurmurHash3. */
function mix(value: number): number {
  let mixed = value ^ (value >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
