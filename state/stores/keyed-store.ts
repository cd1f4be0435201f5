import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { type Entry, entryCache } from './entry-cache.ts'
import { decodeStored } from './errors.ts'
import { keyFilter } from './key-filter.ts'
import { type ChangedKey, type KeyRange, mergedScan } from './merged-scan.ts'
import { type ChangelogWriter, type EngineStore, NO_ROW_PREFIX, type StateColumn, type StoreContext, type StoreLookup } from './store.ts'

export interface KeyedStoreOptions<K, V> {
  readonly key: Codec<K>
  readonly value: ValueFormat<V>
  /** Whether the store has a changelog. Default true. Use false for state that can be recomputed or may be lost. */
  readonly logged?: boolean
  /** Whether values that were replaced or deleted must also be erased from files and changelogs. Default false. */
  readonly erasable?: boolean
  /**
   * Memory for cached objects per task, in bytes, estimated from their encoded sizes. Default: the worker's setting.
   */
  readonly cacheBytes?: number
  /**
   * True if most of the keys that are looked up have no row. The store then keeps a hash of each of its keys in memory
   * (see `keyFilter`), so that looking up an absent key reads nothing. To fill this filter, the store reads all of its
   * keys when its task starts, so it should have few rows. Default false.
   */
  readonly sparse?: boolean
  /** Converts a stored value to the form that state queries return. Default: the value itself. */
  readonly view?: (value: V) => unknown
}

/**
 * Key of a record whose only purpose is to make the broker close a segment. No entry of an erasable store has this key.
 */
export const ROLL_KEY = '\0roll'
const ROLL_KEY_BYTES = Buffer.from(ROLL_KEY)

/**
 * Stores one object per key. Values are cached in decoded form. While a value is cached, `get` returns the object that
 * was `put`, so modify this object only if you `put` it again in the same call of your processor. Keys that are objects
 * (buffers, composite keys) are compared by their encoded bytes and must not be modified afterwards.
 */
export interface KeyedStore<K, V> extends EngineStore {
  readonly lookup: StoreLookup<K, V>
  /** Announces that the key will be read. All announced keys of a batch are read together. */
  prefetch(key: K): void
  get(key: K): V | undefined
  put(key: K, value: V): void
  delete(key: K): void
  /**
   * Makes the database rewrite its files soon, so that a replaced value does not remain in them. Not needed after
   * `delete`, which does the same. Only for erasable stores.
   */
  scrub(): void
  /**
   * Adds an empty record to the changelog with the next commit, so that the broker closes a segment. The broker
   * compacts only closed segments, and closes a segment only when a record is added. Only for erasable stores.
   */
  roll(): void
  /**
   * Iterates over the entries in key order, including uncommitted changes. The scan may miss keys that are added while
   * it runs, and omits deleted keys.
   */
  scan(range?: KeyRange<K>): IteratorObject<[key: K, value: V]>
}

interface Change<K, V> extends ChangedKey {
  readonly entry: Entry<K, V>
}

export function keyedStore<K, V>(name: string, options: KeyedStoreOptions<K, V>): KeyedStore<K, V> {
  const keys = options.key
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()
  const entries = entryCache<K, V>({ name, key: keys, cacheBytes: options.cacheBytes, encodeReadKey: keys.encode, read, write })
  const filter = options.sparse === true ? keyFilter(keys) : undefined
  let values: Codec<V>
  let column: StateColumn
  let mustRoll = false
  /** Number of commits. It shows a scan whether the database has changed since the scan began. */
  let commits = 0
  /** True if a change since the last flush requires a rewrite of the database. */
  let mustScrub = false
  /** True if a flushed change requires a rewrite. The rewrite is requested when the database contains the change. */
  let scrubsFlushed = false
  /** All changes in key order. They are cached until the next change, so that consecutive scans share them. */
  let sorted: { readonly revision: number; readonly changes: readonly Change<K, V>[] } | undefined

  function read(entry: Entry<K, V>, bytes: Buffer | undefined): void {
    entry.absent = bytes === undefined
    entry.value = bytes && decodeStored(values, bytes, name)
  }

  /** Encodes an entry into `keyBytes` and `valueBytes`. @returns the buffer of the value; null if the entry has none */
  function encode({ key, value }: Entry<K, V>): Buffer | null {
    keyBytes.length = 0
    valueBytes.length = 0
    keys.encode(key, keyBytes)
    if (value === undefined) return null
    values.encode(value, valueBytes)
    return valueBytes.buffer
  }

  function write(entry: Entry<K, V>, to: StateColumn, changelog: ChangelogWriter | undefined): number {
    if (entry.value === undefined && entry.absent) return 0
    const bytes = encode(entry)
    entry.absent = bytes === null
    changelog?.append(keyBytes.buffer, 0, keyBytes.length, bytes, 0, valueBytes.length)
    to.put(keyBytes.buffer, 0, keyBytes.length, bytes, 0, valueBytes.length)
    return keyBytes.length + valueBytes.length
  }

  function encodedKey(key: K): Buffer {
    keyBytes.length = 0
    keys.encode(key, keyBytes)
    return Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length))
  }

  function sortedChanges(): readonly Change<K, V>[] {
    if (sorted?.revision !== entries.revision) {
      const changes = Array.from(entries.pending(), (entry) => ({ bytes: encodedKey(entry.key), entry }))
      changes.sort((a, b) => Buffer.compare(a.bytes, b.bytes))
      sorted = { revision: entries.revision, changes }
    }
    return sorted.changes
  }

  /** Fills the filter with the keys of the column and of all pending changes. */
  function fillFilter(): void {
    if (filter === undefined) return
    filter.clear()
    for (const [key] of column.scan({})) filter.add(keys.decode(key, 0, key.length))
    for (const { key } of entries.pending()) filter.add(key)
  }

  function valueOfChange({ entry: noted }: Change<K, V>): [K, V] | undefined {
    // If the change was committed and evicted while the scan ran, a later change of the same key is in a different
    // entry.
    const cached = entries.peek(noted.key)
    return shownOf(cached?.loaded ? cached : noted)
  }

  function shownOf({ key, value }: Entry<K, V>): [K, V] | undefined {
    return value === undefined ? undefined : [key, value]
  }

  /** @param mayBeOld true if the row may have been replaced by a commit since the scan began */
  function valueOfRow([rowKey, bytes]: readonly [Buffer, Buffer], mayBeOld: boolean): [K, V] | undefined {
    const key = keys.decode(rowKey, 0, rowKey.length)
    const entry = entries.peek(key)
    if (entry?.loaded) return shownOf(entry)
    return mayBeOld ? shownOf(entries.entry(key)) : [key, decodeStored(values, bytes, name)]
  }

  return {
    name,
    values: options.value as ValueFormat<unknown>,
    logged: options.logged ?? true,
    erasable: options.erasable ?? false,
    lookup: { key: keys, rowPrefix: NO_ROW_PREFIX, view: (stored) => (options.view?.(stored as V) ?? stored) as V },
    open(context: StoreContext) {
      values = context.codec as Codec<V>
      column = context.column
      entries.open(context)
      fillFilter()
    },
    prefetchFor: entries.prefetchFor,
    prefetch:
      filter === undefined
        ? entries.prefetch
        : (key) => {
            entries.checkAccess()
            try {
              if (!filter.mayHave(key)) return
            } catch {
              return // The processor that uses the key gets the error.
            }
            entries.prefetch(key)
          },
    loadPrefetched: entries.loadPrefetched,
    get(key) {
      if (filter !== undefined) {
        entries.checkAccess()
        if (!filter.mayHave(key)) return undefined
      }
      return entries.entry(key).value
    },
    put(key, value) {
      entries.changed(key).value = value
      filter?.add(key)
    },
    delete(key) {
      entries.changed(key).value = undefined
      filter?.removed()
      mustScrub ||= options.erasable === true
    },
    scrub() {
      entries.checkAccess()
      mustScrub = true
    },
    roll() {
      entries.checkAccess()
      mustRoll = true
    },
    scan(range = {}) {
      entries.checkAccess()
      const begun = commits
      const isFromBefore = () => range.omitsNew === true && commits !== begun
      const ofRow = (row: readonly [Buffer, Buffer]) => valueOfRow(row, isFromBefore())
      return mergedScan(range, encodedKey, { column, sortedChanges, ofChange: valueOfChange, ofRow })
    },
    get dirtyKeys() {
      return entries.dirtyKeys + Number(mustRoll)
    },
    get dirtyBytes() {
      return entries.dirtyBytes
    },
    flush(changelog) {
      entries.flush(changelog)
      if (mustRoll) changelog?.append(ROLL_KEY_BYTES, 0, ROLL_KEY_BYTES.length, null, 0, 0)
      mustRoll = false
      scrubsFlushed ||= mustScrub
      mustScrub = false
    },
    trackChanges: entries.trackChanges,
    checkChanges(check) {
      for (const entry of entries.takeTracked()) {
        const bytes = encode(entry)
        check?.append(keyBytes.buffer, 0, keyBytes.length, bytes, 0, valueBytes.length)
      }
    },
    committed() {
      commits++
      entries.committed()
      sorted = undefined
      if (filter?.isStale) fillFilter()
      if (scrubsFlushed) column.scrub()
      scrubsFlushed = false
    },
    discard() {
      entries.discard()
      mustRoll = false
      sorted = undefined
    },
  }
}
