import { avroValue } from '../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { emptyFilter, filterAdd, filterHas, filterShape, hashItem, type ItemHash } from './bloom-filter.ts'
import { keyedStore } from './keyed-store.ts'
import type { EngineStore, StoreLookup } from './store.ts'
import { storeLife } from './store-life.ts'

export interface SeenSetOptions<K, I> {
  readonly key: Codec<K>
  readonly item: Codec<I>
  /** Items that a key remembers at least; of more, those that were added first are forgotten. */
  readonly capacity: number
  /** Share of the items never added that are taken for seen, at most, 0 to 1. */
  readonly errorRate: number
  /** Default true. */
  readonly logged?: boolean
}

/**
 * Per key a set of items in a few bits each, which may take an item for seen that never was. It says "new" only of items that are.
 * A set begins small and grows by further filters (Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom filters", 2007), so that a
 * key with a few items costs little.
 */
export interface SeenSetStore<K, I> extends EngineStore {
  /** Readers see how many items the set remembers. */
  readonly lookup: StoreLookup<K, { readonly items: number }>
  prefetch(key: K): void
  /** @returns true when the item is surely new; it is remembered from now on */
  add(key: K, item: I): boolean
  has(key: K, item: I): boolean
  /** Items added and not forgotten; those that were wrongly taken for seen are not among them. */
  size(key: K): number
  delete(key: K): void
}

/** One filter of a set. */
interface Slice {
  /** Items that it takes. */
  readonly capacity: number
  items: number
  /** Bits set per item; kept, because options may change. */
  readonly hashes: number
  readonly bits: Buffer
}

/** Oldest slice first. */
type SeenSet = Slice[]

/** Smaller filters would not save a row much. */
const FIRST_SLICE_ITEMS = 64
const GROWTH = 4
/** A set forgets a quarter of its capacity at a time. */
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

/** @throws RangeError for a capacity or rate that makes no sense */
export function seenSetStore<K, I>(name: string, options: SeenSetOptions<K, I>): SeenSetStore<K, I> {
  const { capacity, errorRate, item: items } = options
  if (!(Number.isSafeInteger(capacity) && capacity > 0)) throw new RangeError(`store ${name}: capacity must be a positive integer`)
  if (!(errorRate > 0 && errorRate < 1)) throw new RangeError(`store ${name}: errorRate must lie between 0 and 1`)
  const sets = keyedStore<K, SeenSet>(name, { key: options.key, value: seenSet, logged: options.logged })
  // Each filter may be wrong, so each gets its share of the rate.
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

/** The newest slice counts as empty. */
function dropOldest(set: { readonly capacity: number }[], capacity: number): void {
  let others = set.slice(0, -1).reduce((sum, slice) => sum + slice.capacity, 0)
  while (set.length > 1 && others - set[0].capacity >= capacity) others -= (set.shift() as { capacity: number }).capacity
}

/** How many slices a set has at most: those of a set that grows until all its first ones are forgotten. */
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
