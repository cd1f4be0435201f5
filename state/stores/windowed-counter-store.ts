import type { Codec } from '../../schemas/codec.ts'
import { addTo, type Buckets, dropBefore, eachBucket, newestOf, oneBucket, sumOf } from './buckets.ts'
import { keyedStore } from './keyed-store.ts'
import type { KeyRange } from './merged-scan.ts'
import type { EngineStore, StoreContext, StoreLookup, StreamTime } from './store.ts'
import { storeLife } from './store-life.ts'
import { windowedCounterValue } from './windowed-counter.ts'

export interface WindowedCounterOptions<K> {
  readonly key: Codec<K>
  /** Length of a bucket in ms. Buckets begin at multiples of this length. */
  readonly bucketMs: number
  /**
   * Number of buckets in a key's ring. The ring ends at the bucket of the task's stream time or at the key's newest
   * bucket, whichever is later.
   */
  readonly buckets: number
  /** Whether the store has a changelog. Default true. */
  readonly logged?: boolean
  /**
   * Memory for cached objects per task, in bytes, estimated from their encoded sizes. Default: the worker's setting.
   */
  readonly cacheBytes?: number
}

/** Counts per key in a ring of time buckets. Times are in epoch ms. */
export interface WindowedCounterStore<K> extends EngineStore {
  /** Looks up the non-empty buckets of a key, oldest first. */
  readonly lookup: StoreLookup<K, [start: number, count: number][]>
  prefetch(key: K): void
  /**
   * Adds `by` (an integer, default 1) to the bucket of `time`. A bucket after the key's newest bucket advances the
   * key's ring.
   * @returns false, without counting anything, if `time` is before the key's ring. The ring ends at the bucket of
   * stream time or at the key's newest bucket, whichever is later
   * @throws RangeError when `by` is not an integer or `time` is not a time, because such a count would corrupt the
   * state
   */
  add(key: K, time: number, by?: number): boolean
  /** Returns the sum of the buckets that begin at or after `from` and before `to`. */
  count(key: K, from: number, to: number): number
  /** Returns the key's non-empty buckets, oldest first, as [start of the bucket, count]. */
  buckets(key: K): [start: number, count: number][]
  /** Drops the buckets that begin before `time`. A key without buckets is deleted. */
  trim(key: K, time: number): void
  delete(key: K): void
  /** Iterates over the keys in the order of their encoded bytes. */
  keys(range?: KeyRange<K>): IterableIterator<K>
}

export function windowedCounterStore<K>(name: string, options: WindowedCounterOptions<K>): WindowedCounterStore<K> {
  const { bucketMs, buckets: ring } = options
  if (![bucketMs, ring].every((value) => Number.isSafeInteger(value) && value > 0))
    throw new RangeError(`store ${name}: bucketMs and buckets must be positive integers, not ${bucketMs} and ${ring}`)
  const counters = keyedStore<K, Buckets>(name, {
    key: options.key,
    value: windowedCounterValue(),
    logged: options.logged,
    cacheBytes: options.cacheBytes,
  })

  let time: StreamTime | undefined

  function isLate(bucket: number, newest: number): boolean {
    return bucket <= newest - ring || (time !== undefined && bucket <= Math.floor(time.streamTime / bucketMs) - ring)
  }

  /** Returns the first bucket that begins at or after `time`. */
  function firstFrom(time: number): number {
    return Math.ceil(time / bucketMs)
  }

  function bucketsOf(counter: Buckets | undefined): [number, number][] {
    const list: [number, number][] = []
    if (counter) eachBucket(counter, (bucket, count) => list.push([bucket * bucketMs, count]))
    return list
  }

  return Object.assign(storeLife(counters), {
    lookup: { ...counters.lookup, view: (stored: unknown) => bucketsOf(stored as Buckets) },
    open(context: StoreContext) {
      time = context.time
      counters.open(context)
    },
    prefetch: counters.prefetch,
    add(key: K, time: number, by = 1) {
      const bucket = Math.floor(time / bucketMs)
      if (!Number.isSafeInteger(by) || !Number.isSafeInteger(bucket))
        throw new RangeError(`store ${name}: ${by} is not an integer, or ${time} is not a time in epoch ms`)
      const counter = counters.get(key)
      if (isLate(bucket, counter === undefined ? -Infinity : newestOf(counter))) return false
      if (counter === undefined) counters.put(key, oneBucket(bucket, by))
      else {
        addTo(counter, bucket, by, ring)
        counters.put(key, counter)
      }
      return true
    },
    count(key: K, from: number, to: number) {
      const counter = counters.get(key)
      return counter === undefined ? 0 : sumOf(counter, firstFrom(from), firstFrom(to) - 1)
    },
    buckets(key: K) {
      return bucketsOf(counters.get(key))
    },
    trim(key: K, time: number) {
      const counter = counters.get(key)
      if (counter === undefined) return
      const { length } = counter.at
      dropBefore(counter, firstFrom(time))
      if (counter.at.length === length) return
      if (counter.at.length === 0) counters.delete(key)
      else counters.put(key, counter)
    },
    delete: counters.delete,
    keys: (range?: KeyRange<K>) => counters.scan(range).map(([key]) => key),
  })
}
