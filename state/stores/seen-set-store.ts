import { avroValue } from '../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { emptyFilter, filterAdd, filterHas, filterShape, hashItem, type ItemHash } from './bloom-filter.ts'
import { keyedStore } from './keyed-store.ts'
import type { EngineStore, StoreLookup } from './store.ts'
import { storeLife } from './store-life.ts'

export interface SeenSetOptions<K, I> {
  readonly key: Codec<K>
  readonly item: Codec<I>
  /** Minimum number of items that a key remembers. Beyond it, the oldest items may be forgotten. */
  readonly capacity: number
  /** Maximum false-positive rate, between 0 and 1: the share of new items that are reported as seen. */
  readonly errorRate: number
  /** Default true. */
  readonly logged?: boolean
}

/**
 * Stores a set of items per key in a few bits per item. It may report a new item as seen, but never reports a
 * remembered item as new. A set starts small and grows by adding filters (Almeida, Baquero, Preguiça and Hutchison,
 * "Scalable Bloom filters", 2007), so a key with few items takes little space.
 */
export interface SeenSetStore<K, I> extends EngineStore {
  /** The lookup returns the number of items that the set remembers. */
  readonly lookup: StoreLookup<K, { readonly items: number }>
  prefetch(key: K): void
  /**
   * Remembers the item.
   * @returns true when the item is certainly new
   */
  add(key: K, item: I): boolean
  has(key: K, item: I): boolean
  /**
   * Returns the number of items that were added and not forgotten. It excludes new items that were mistaken for seen
   * ones.
   */
  size(key: K): number
  delete(key: K): void
}

/** One Bloom filter of a set. */
interface Slice {
  /** Number of items that the slice is designed for. */
  readonly capacity: number
  items: number
  /** Bits set per item; stored because the options may change later. */
  readonly hashes: number
  readonly bits: Buffer
}

/** The slices of a set, oldest first. */
type SeenSet = Slice[]

/** Capacity of the first slice. Smaller filters would not make a row noticeably smaller. */
const FIRST_SLICE_ITEMS = 64
const GROWTH = 4
/** A full set consists of this many slices of the largest size, so it forgets a quarter of its capacity at a time. */
const LARGEST_SLICES = 4

const seenSet = avroValue<SeenSet>({
  type: 'array',
  items: {
    type: 'record',
    name: 'SeenSlice',
    namespace: 'millrace.state',
    fields: [
      { name: 'capacity', type: 'int' },
      { name: 'items', type: 'int' },
      { name: 'hashes', type: 'int' },
      { name: 'bits', type: 'bytes' },
    ],
  },
})

/** @throws RangeError when the capacity or the error rate is invalid */
export function seenSetStore<K, I>(name: string, options: SeenSetOptions<K, I>): SeenSetStore<K, I> {
  const { capacity, errorRate, item: items } = options
  if (!(Number.isSafeInteger(capacity) && capacity > 0)) throw new RangeError(`store ${name}: capacity must be a positive integer`)
  if (!(errorRate > 0 && errorRate < 1)) throw new RangeError(`store ${name}: errorRate must be between 0 and 1`)
  const sets = keyedStore<K, SeenSet>(name, { key: options.key, value: seenSet, logged: options.logged })
  // A lookup is wrong when any of the filters is, so the error rate is divided among them.
  const sliceErrorRate = errorRate / mostSlices(capacity)
  const itemBytes = byteWriter()

  function hashOf(item: I): ItemHash {
    itemBytes.length = 0
    items.encode(item, itemBytes)
    return hashItem(itemBytes.buffer.subarray(0, itemBytes.length))
  }

  function newSlice(set: SeenSet): Slice {
    const sliceItems = nextSliceItems(capacity, set.at(-1)?.capacity)
    const shape = filterShape(sliceItems, sliceErrorRate)
    const slice = { capacity: sliceItems, items: 0, hashes: shape.hashes, bits: emptyFilter(shape) }
    set.push(slice)
    dropOldest(set, capacity)
    return slice
  }

  return Object.assign(storeLife(sets), {
    lookup: { ...sets.lookup, view: (stored: unknown) => ({ items: countItems(stored as SeenSet) }) },
    prefetch: sets.prefetch,
    add(key: K, item: I) {
      const set = sets.get(key) ?? []
      const hash = hashOf(item)
      if (isIn(set, hash)) return false
      const last = set.at(-1)
      const slice = last !== undefined && last.items < last.capacity ? last : newSlice(set)
      filterAdd(slice.bits, slice.hashes, hash)
      slice.items++
      sets.put(key, set)
      return true
    },
    has(key: K, item: I) {
      const set = sets.get(key)
      return set !== undefined && isIn(set, hashOf(item))
    },
    size(key: K) {
      return countItems(sets.get(key) ?? [])
    },
    delete: sets.delete,
  })
}

function isIn(set: SeenSet, hash: ItemHash): boolean {
  return set.some(({ bits, hashes }) => filterHas(bits, hashes, hash))
}

function countItems(set: SeenSet): number {
  return set.reduce((sum, { items }) => sum + items, 0)
}

function nextSliceItems(capacity: number, last: number | undefined): number {
  if (last === undefined) return FIRST_SLICE_ITEMS
  return Math.min(last * GROWTH, Math.max(FIRST_SLICE_ITEMS, Math.ceil(capacity / LARGEST_SLICES)))
}

/** Drops old slices that are not needed for the capacity. The newest slice counts as empty. */
function dropOldest(set: { readonly capacity: number }[], capacity: number): void {
  let others = set.slice(0, -1).reduce((sum, slice) => sum + slice.capacity, 0)
  while (set.length > 1 && others - set[0].capacity >= capacity) others -= (set.shift() as { capacity: number }).capacity
}

/**
 * Returns the maximum number of slices of a set. Simulates a set that grows until all of its first slices are
 * forgotten.
 */
function mostSlices(capacity: number): number {
  const set: { readonly capacity: number }[] = []
  let most = 0
  for (let added = 0; added <= LARGEST_SLICES * Math.max(capacity, FIRST_SLICE_ITEMS); added += set[set.length - 1].capacity) {
    const slice = { capacity: nextSliceItems(capacity, set.at(-1)?.capacity) }
    set.push(slice)
    dropOldest(set, capacity)
    most = Math.max(most, set.length)
  }
  return most
}
