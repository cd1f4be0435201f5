import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { type Entry, entryCache } from './entry-cache.ts'
import { decodeStored } from './errors.ts'
import { lowerBound } from './lower-bound.ts'
import type { ChangelogWriter, EngineStore, StateColumn, StoreContext, StoreLookup } from './store.ts'

export interface KeyedStoreOptions<K, V> {
  readonly key: Codec<K>
  readonly value: ValueFormat<V>
  /** Default true. False disables the changelog, for state that can be recomputed or lost. */
  readonly logged?: boolean
  /** Whether values that were replaced or deleted must also vanish from files and changelogs. Default false. */
  readonly erasable?: boolean
  /** Memory for decoded objects, per task, estimated from the encoded sizes. Default: that of the worker. */
  readonly cacheBytes?: number
  /** Converts a stored value to what queries of the state show. Default: they show the value. */
  readonly view?: (value: V) => unknown
}

/** Key of the records that only cause the broker to close a segment. No key begins with a NUL. */
export const ROLL_KEY = '\0roll'
const ROLL_KEY_BYTES = Buffer.from(ROLL_KEY)

/** A range of keys in the order of their encoded bytes. */
export interface KeyRange<K> {
  /** First key, inclusive. */
  readonly gte?: K
  /** End key, exclusive. */
  readonly lt?: K
  /** Prefix of the encoded keys. */
  readonly prefix?: Uint8Array
  readonly limit?: number
  readonly reverse?: boolean
  /**
   * Omits keys that were added since the last commit. A scan that need not find them, such as a sweep, then does not
   * have to sort all changes.
   */
  readonly omitsNew?: boolean
}

/**
 * Stores one object per key. Values are cached in decoded form: `get` returns the object that was `put`, so modify it
 * only if you `put` it again in the same call. Keys that are objects (buffers, composite keys) are compared by their
 * encoded bytes and must not be modified afterwards.
 */
export interface KeyedStore<K, V> extends EngineStore {
  readonly lookup: StoreLookup<K, V>
  /** Announces that the key will be read. All announced keys of a batch are read together. */
  prefetch(key: K): void
  get(key: K): V | undefined
  put(key: K, value: V): void
  delete(key: K): void
  /**
   * Makes the database rewrite its files soon, because a value that was replaced or deleted must not remain in them.
   * `delete` does this itself. Only for erasable stores.
   */
  scrub(): void
  /**
   * Adds a record to the changelog, with the next commit. The broker never compacts the segment that it is writing, and
   * closes it only when a record is added. Only for erasable stores.
   */
  roll(): void
  /**
   * Iterates over the entries in key order, including uncommitted changes. The scan may miss keys that are added while
   * it runs, and omits deleted keys.
   */
  scan(range?: KeyRange<K>): IteratorObject<[key: K, value: V]>
}

interface Change<K, V> {
  readonly bytes: Buffer
  readonly entry: Entry<K, V>
}

interface ByteBounds {
  readonly gte?: Buffer
  readonly lt?: Buffer
}

export function keyedStore<K, V>(name: string, options: KeyedStoreOptions<K, V>): KeyedStore<K, V> {
  const keys = options.key
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()
  const entries = entryCache<K, V>({ name, key: keys, cacheBytes: options.cacheBytes, encodeReadKey: keys.encode, read, write })
  let values: Codec<V>
  let column: StateColumn
  let mustRoll = false
  let mustScrub = false
  /** All changes in key order. They are cached until the next change, so that consecutive scans share them. */
  let sorted: { readonly revision: number; readonly changes: readonly Change<K, V>[] } | undefined

  function read(entry: Entry<K, V>, bytes: Buffer | undefined): void {
    entry.absent = bytes === undefined
    entry.value = bytes && decodeStored(values, bytes, name)
  }

  function write(entry: Entry<K, V>, to: StateColumn, changelog: ChangelogWriter | undefined): number {
    if (entry.value === undefined && entry.absent) return 0
    let bytes: Buffer | null = null
    keyBytes.length = 0
    valueBytes.length = 0
    keys.encode(entry.key, keyBytes)
    if (entry.value !== undefined) {
      values.encode(entry.value, valueBytes)
      bytes = valueBytes.buffer
    }
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

  function byteBounds({ gte, lt, prefix }: KeyRange<K>): ByteBounds {
    const from = gte === undefined ? undefined : encodedKey(gte)
    const to = lt === undefined ? undefined : encodedKey(lt)
    if (prefix === undefined) return { gte: from, lt: to }
    const first = Buffer.from(prefix)
    const end = prefixEnd(prefix)
    return {
      gte: from && Buffer.compare(from, first) > 0 ? from : first,
      lt: to && (end === undefined || Buffer.compare(to, end) < 0) ? to : end,
    }
  }

  /** Returns the changes that are not in the column yet, in scan order. */
  function changesWithin({ gte, lt }: ByteBounds, direction: 1 | -1): Change<K, V>[] {
    const all = sortedChanges()
    const firstFrom = (key: Buffer) => lowerBound(all, ({ bytes }) => Buffer.compare(bytes, key) < 0)
    const changes = all.slice(gte && firstFrom(gte), lt && firstFrom(lt))
    return direction === 1 ? changes : changes.reverse()
  }

  function sortedChanges(): readonly Change<K, V>[] {
    if (sorted?.revision !== entries.revision) {
      const changes = Array.from(entries.pending(), (entry) => ({ bytes: encodedKey(entry.key), entry }))
      changes.sort((a, b) => Buffer.compare(a.bytes, b.bytes))
      sorted = { revision: entries.revision, changes }
    }
    return sorted.changes
  }

  /** Merges the column's rows with the changes. A change replaces the row with the same key. */
  function* scanRows(range: KeyRange<K>): Generator<[K, V]> {
    const { limit = Infinity, reverse = false, omitsNew = false } = range
    const direction = reverse ? -1 : 1
    const bounds = byteBounds(range)
    const changes = omitsNew ? [] : changesWithin(bounds, direction)
    const rows = column.scan({ ...bounds, reverse })[Symbol.iterator]()
    let nextChange = 0
    let given = 0
    try {
      let row = rows.next()
      while (given < limit && (!row.done || nextChange < changes.length)) {
        const change = changes[nextChange]
        const order = row.done ? 1 : change === undefined ? -1 : Buffer.compare(row.value[0], change.bytes) * direction
        if (order >= 0) nextChange++
        const shown = row.done || order > 0 ? valueOfChange(change) : valueOfRow(row.value)
        if (!row.done && order <= 0) row = rows.next()
        if (shown === undefined) continue
        given++
        yield shown
      }
    } finally {
      rows.return?.()
    }
  }

  function valueOfChange({ entry }: Change<K, V>): [K, V] | undefined {
    return entry.value === undefined ? undefined : [entry.key, entry.value]
  }

  function valueOfRow([rowKey, bytes]: readonly [Buffer, Buffer]): [K, V] | undefined {
    const key = keys.decode(rowKey, 0, rowKey.length)
    const entry = entries.peek(key)
    if (!entry?.loaded) return [key, decodeStored(values, bytes, name)]
    return valueOfChange({ bytes: rowKey, entry })
  }

  return {
    name,
    values: options.value as ValueFormat<unknown>,
    logged: options.logged ?? true,
    erasable: options.erasable ?? false,
    lookup: { key: keys, encodeRow: keys.encode, view: (stored) => (options.view?.(stored as V) ?? stored) as V },
    open(context: StoreContext) {
      values = context.codec as Codec<V>
      column = context.column
      entries.open(context)
    },
    prefetchFor: entries.prefetchFor,
    prefetch: entries.prefetch,
    loadPrefetched: entries.loadPrefetched,
    get(key) {
      return entries.entry(key).value
    },
    put(key, value) {
      entries.changed(key).value = value
    },
    delete(key) {
      entries.changed(key).value = undefined
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
      return scanRows(range)
    },
    get dirtyKeys() {
      return entries.dirtyKeys + Number(mustRoll)
    },
    flush(changelog) {
      entries.flush(changelog)
      if (mustRoll) changelog?.append(ROLL_KEY_BYTES, 0, ROLL_KEY_BYTES.length, null, 0, 0)
      mustRoll = false
    },
    committed() {
      entries.committed()
      sorted = undefined
      if (mustScrub) column.scrub()
      mustScrub = false
    },
    discard() {
      entries.discard()
      mustRoll = false
      sorted = undefined
    },
  }
}

/** Returns the smallest key after all keys with the prefix; undefined when there is none (all bytes are 0xff). */
function prefixEnd(prefix: Uint8Array): Buffer | undefined {
  let length = prefix.length
  while (length > 0 && prefix[length - 1] === 0xff) length--
  if (length === 0) return undefined
  const end = Buffer.from(prefix.subarray(0, length))
  end[length - 1]++
  return end
}
