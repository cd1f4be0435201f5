import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { keyHash } from './packed-rows.ts'

/**
 * A filter that shows whether a key may have a row. It contains the hashes of a store's keys. The hash of a removed key
 * stays until the filter is filled again, so the filter does not have to count the keys per hash.
 */
export interface KeyFilter<K> {
  add(key: K): void
  /** Notes that a key was removed. */
  removed(): void
  /** Returns false only if the key was not added. Always true once the filter has too many keys. */
  mayHave(key: K): boolean
  /** True when so many keys were removed that the filter should be cleared and filled again. */
  readonly isStale: boolean
  clear(): void
}

/** Mask that shortens hashes to integers that V8 stores without allocating an object. */
const HASH_BITS = 0x3fff_ffff
/** The filter is stale only if more keys than this were removed. */
const REMOVED_KEPT = 1_000
/** Maximum number of hashes. They take about 200 MB. A Set cannot contain more than 16.7 million. */
const MAX_HASHES = 8_000_000

export function keyFilter<K>(keys: Codec<K>, maxHashes = MAX_HASHES): KeyFilter<K> {
  const hashes = new Set<number>()
  const bytes = byteWriter()
  let removed = 0
  let isFull = false

  function hashOf(key: K): number {
    bytes.length = 0
    keys.encode(key, bytes)
    return keyHash(bytes.buffer, 0, bytes.length) & HASH_BITS
  }

  return {
    add(key) {
      if (isFull) return
      hashes.add(hashOf(key))
      isFull = hashes.size > maxHashes
      if (isFull) hashes.clear()
    },
    removed() {
      removed++
    },
    mayHave: (key) => isFull || (hashes.size > 0 && hashes.has(hashOf(key))),
    get isStale() {
      return !isFull && removed > REMOVED_KEPT && removed * 2 > hashes.size
    },
    clear() {
      hashes.clear()
      removed = 0
      isFull = false
    },
  }
}
