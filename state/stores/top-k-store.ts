import type { Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { keyedStore } from './keyed-store.ts'
import { lowerBound } from './lower-bound.ts'
import type { KeyRange } from './merged-scan.ts'
import type { EngineStore, StoreLookup } from './store.ts'
import { storeLife } from './store-life.ts'

export interface TopKOptions<G, T> {
  readonly group: Codec<G>
  /** The format of a whole list: an Avro array of items. */
  readonly list: ValueFormat<T[]>
  /** Maximum number of items per group. */
  readonly k: number
  /** The identity of an item: items with equal ids replace each other. */
  readonly id: (item: T) => string | number | bigint
  /**
   * Returns a negative number when `a` ranks before `b`. It must not return 0 for two different items, so include a
   * tie-breaker. Without a tie-breaker, the list depends on the order of arrival.
   */
  readonly compare: (a: T, b: T) => number
  /** Whether the store has a changelog. Default true. */
  readonly logged?: boolean
  /**
   * Memory for cached objects per task, in bytes, estimated from their encoded sizes. Default: the worker's setting.
   */
  readonly cacheBytes?: number
}

/**
 * Keeps the K best items per group. When an item leaves the list, its place stays free until another item is added,
 * because items that did not make the list are not remembered.
 */
export interface TopKStore<G, T> extends EngineStore {
  readonly lookup: StoreLookup<G, T[]>
  prefetch(group: G): void
  /**
   * Inserts the item by rank. Replaces an earlier version of the item.
   * @returns whether the item is among the K best
   */
  add(group: G, item: T): boolean
  /** @returns whether the item was in the list */
  remove(group: G, id: string | number | bigint): boolean
  /** Returns the items, best first. The array belongs to the store, so do not modify it. */
  list(group: G): readonly T[]
  delete(group: G): void
  /** Iterates over the groups in the order of their encoded bytes. */
  groups(range?: KeyRange<G>): IterableIterator<G>
}

export function topKStore<G, T>(name: string, options: TopKOptions<G, T>): TopKStore<G, T> {
  const { k, id, compare } = options
  if (!Number.isSafeInteger(k) || k <= 0) throw new RangeError(`store ${name}: k must be a positive integer, not ${k}`)
  const lists = keyedStore<G, T[]>(name, {
    key: options.group,
    value: options.list,
    logged: options.logged,
    cacheBytes: options.cacheBytes,
  })

  function drop(list: T[], itemId: string | number | bigint): boolean {
    const at = list.findIndex((item) => id(item) === itemId)
    if (at < 0) return false
    list.splice(at, 1)
    return true
  }

  return Object.assign(storeLife(lists), {
    lookup: lists.lookup,
    prefetch: lists.prefetch,
    add(group: G, item: T) {
      const list = lists.get(group) ?? []
      // A longer list was written when k was larger.
      if (list.length > k) list.length = k
      drop(list, id(item))
      const at = lowerBound(list, (other) => compare(other, item) <= 0)
      if (at >= k) return false
      list.splice(at, 0, item)
      if (list.length > k) list.pop()
      lists.put(group, list)
      return true
    },
    remove(group: G, itemId: string | number | bigint) {
      const list = lists.get(group)
      if (list === undefined || !drop(list, itemId)) return false
      if (list.length === 0) lists.delete(group)
      else lists.put(group, list)
      return true
    },
    list(group: G) {
      return lists.get(group) ?? []
    },
    delete: lists.delete,
    groups: (range?: KeyRange<G>) => lists.scan(range).map(([group]) => group),
  })
}
