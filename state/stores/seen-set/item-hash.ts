import { hash } from 'node:crypto'
import type { Layer } from './layout.ts'
import { MAX_SHORT_BYTES, shortMd5 } from './short-md5.ts'

/** Two independent 32-bit hashes of an item. */
export interface ItemHash {
  /** Chooses the page in each layer. */
  readonly place: number
  /** Its highest bits are the item's fingerprint. */
  readonly mark: number
}

const UINT32_BYTES = 4
const UINT32_BITS = 32
const UINT32_VALUES = 2 ** UINT32_BITS

/**
 * Returns the first and the second four bytes (little-endian) of the item's MD5. MD5 is used as a fast hash with a good
 * distribution, not for security.
 */
export function hashItem(bytes: Uint8Array): ItemHash {
  if (bytes.length <= MAX_SHORT_BYTES) {
    const short = shortMd5(bytes)
    return { place: short[0], mark: short[1] }
  }
  const digest = hash('md5', bytes, 'buffer')
  return { place: digest.readUInt32LE(0), mark: digest.readUInt32LE(UINT32_BYTES) }
}

/** Returns the number of the item's page in a layer. */
export function pageIn({ firstPage, pages }: Layer, { place }: ItemHash): number {
  return firstPage + Math.floor((place * pages) / UINT32_VALUES)
}

export function fingerprintIn({ fingerprintBits }: Pick<Layer, 'fingerprintBits'>, { mark }: ItemHash): number {
  return mark >>> (UINT32_BITS - fingerprintBits)
}
