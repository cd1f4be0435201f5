import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import { MalformedPageError } from './bits.ts'
import { fingerprintIn, hashItem, type ItemHash, pageIn } from './item-hash.ts'
import { oldestLive, type SeenSetShape, seenSetLayout } from './layout.ts'
import { decodePage, type Page } from './page.ts'

/** Looks up items in copies of pages as the store does, for instance in an API that reads the copies from Redis. */
export interface SeenSetReader<I> {
  /**
   * Returns the numbers of the pages that may contain the item, one per layer of the set. Looking up the item requires
   * only these pages.
   */
  pagesOf(item: I): readonly number[]
  /**
   * Opens a set. Each page is decoded once, when it is first needed, so that looking up thousands of items is cheap.
   * @param pageOf returns the bytes of a page; undefined for pages that the set does not have
   * @param now epoch ms
   * @param onMalformed called for each malformed page, which then counts as empty. Without this callback, `has` throws
   */
  open(pageOf: (page: number) => Uint8Array | undefined, now: number, onMalformed?: (error: MalformedPageError) => void): OpenSeenSet<I>
}

export interface OpenSeenSet<I> {
  /**
   * Returns whether the set contains the item. Reports new items as seen at the error rate of the set.
   * @throws MalformedPageError when a page cannot be read and the set was opened without `onMalformed`
   */
  has(item: I): boolean
}

/**
 * @param options the options of the store that wrote the pages
 * @throws RangeError when the shape is invalid
 */
export function seenSetReader<I>({ item: items, ...shape }: SeenSetShape & { readonly item: Codec<I> }): SeenSetReader<I> {
  const layout = seenSetLayout(shape)
  const hashOf = itemHasher(items)

  return {
    pagesOf(item) {
      const hash = hashOf(item)
      return layout.layers.map((layer) => pageIn(layer, hash))
    },
    open(pageOf, now, onMalformed) {
      const oldest = oldestLive(layout, now)
      const decoded = new Map<number, ReadonlySet<number>>()

      function liveOf(page: number, fingerprintBits: number): ReadonlySet<number> {
        const bytes = pageOf(page)
        const runs = bytes === undefined ? [] : runsOf(bytes, fingerprintBits)
        const live = new Set(runs.flatMap(({ start, fingerprints }) => (start < oldest ? [] : fingerprints)))
        decoded.set(page, live)
        return live
      }

      function runsOf(bytes: Uint8Array, fingerprintBits: number): Page {
        try {
          return decodePage(bytes, fingerprintBits)
        } catch (error) {
          if (onMalformed === undefined || !(error instanceof MalformedPageError)) throw error
          onMalformed(error)
          return []
        }
      }

      return {
        has(item) {
          const hash = hashOf(item)
          return layout.layers.some((layer) => {
            const page = pageIn(layer, hash)
            return (decoded.get(page) ?? liveOf(page, layer.fingerprintBits)).has(fingerprintIn(layer, hash))
          })
        },
      }
    },
  }
}

/** Returns a function that hashes the encoded bytes of items. */
export function itemHasher<I>(items: Codec<I>): (item: I) => ItemHash {
  const bytes = byteWriter()
  return function hashOf(item) {
    bytes.length = 0
    items.encode(item, bytes)
    return hashItem(bytes.buffer.subarray(0, bytes.length))
  }
}
