import { hash } from 'node:crypto'

/**
 * Bloom filters (Bloom 1970) with enhanced hashing by three hash functions (Dillinger and Manolios, "Bloom filters in
 * probabilistic verification", 2004): bit i of an item is h1 + i · h2 + i² · h3 modulo the number of bits. With only
 * two hash functions, small filters exceed their error rate.
 */
export interface FilterShape {
  readonly bits: number
  /** Number of bits set per item. */
  readonly hashes: number
}

/** Three independent 32-bit hashes of an item. */
export type ItemHash = readonly [first: number, second: number, third: number]

const BITS_PER_BYTE = 8
const UINT32_BYTES = 4

/**
 * Computes the smallest filter that holds `items` items with a false-positive rate of at most `errorRate`: n · ln(1/p)
 * / ln²2 bits and ln2 · bits/n hashes.
 */
export function filterShape(items: number, errorRate: number): FilterShape {
  const bits = Math.ceil((items * Math.log(1 / errorRate)) / Math.LN2 ** 2)
  const bytes = Math.ceil(bits / BITS_PER_BYTE)
  return { bits: bytes * BITS_PER_BYTE, hashes: Math.max(1, Math.round((Math.LN2 * bits) / items)) }
}

export function emptyFilter({ bits }: FilterShape): Buffer {
  return Buffer.alloc(bits / BITS_PER_BYTE)
}

/** Hashes an item with MD5, which is used as a fast hash with good distribution, not for security. */
export function hashItem(bytes: Uint8Array): ItemHash {
  const digest = hash('md5', bytes, 'buffer')
  return [digest.readUInt32LE(0), digest.readUInt32LE(UINT32_BYTES), digest.readUInt32LE(2 * UINT32_BYTES)]
}

export function filterHas(filter: Buffer, hashes: number, item: ItemHash): boolean {
  const bits = filter.length * BITS_PER_BYTE
  for (let i = 0; i < hashes; i++) {
    const bit = bitOf(item, i, bits)
    if ((filter[bit >>> 3] & (1 << (bit & 7))) === 0) return false
  }
  return true
}

export function filterAdd(filter: Buffer, hashes: number, item: ItemHash): void {
  const bits = filter.length * BITS_PER_BYTE
  for (let i = 0; i < hashes; i++) {
    const bit = bitOf(item, i, bits)
    filter[bit >>> 3] |= 1 << (bit & 7)
  }
}

/** The result is exact in doubles, because hashes are below 2^32 and there are at most a few dozen steps. */
function bitOf([first, second, third]: ItemHash, step: number, bits: number): number {
  return (first + step * second + step * step * third) % bits
}
