import { type ByteWriter, byteWriter, type Codec } from '../../schemas/codec.ts'
import { type ObjectCache, objectCache } from './object-cache.ts'
import type { ChangelogWriter, EngineStore, StateColumn, StoreContext } from './store.ts'
import { storeGuard } from './store-guard.ts'

/** What a store knows of one key. */
export interface Entry<K, V> {
  readonly key: K
  value: V | undefined
  /** False for a key that was announced and not read yet. */
  loaded: boolean
  /** Changed since the last flush. */
  dirty: boolean
  /** True: known to have no rows in the column, so that a deletion needs no tombstone. Kept by `read` and `write`, where a store cares. */
  absent: boolean
}

export interface EntryCacheOptions<K, V> {
  readonly name: string
  readonly key: Codec<K>
  /** Appends the key under which an entry is read: the codec's bytes, or more where a store keeps several kinds of rows. */
  encodeReadKey(key: K, out: ByteWriter): void
  /** @param bytes as stored, undefined where there is nothing */
  read(entry: Entry<K, V>, bytes: Buffer | undefined): void
  /** Writes a changed entry's rows to changelog and column. */
  write(entry: Entry<K, V>, column: StateColumn, changelog: ChangelogWriter | undefined): void
}

/** Entries read, changed and not written yet: what all stores have in common. */
export interface EntryCache<K, V> extends Omit<EngineStore, 'name' | 'values' | 'logged'> {
  /** For uses that ask for no entry: see `StoreGuard`. All other methods that take a key check by themselves, except `peek`. */
  checkAccess(): void
  prefetch(key: K): void
  /** The entry of a key, read where it is not known yet. */
  entry(key: K): Entry<K, V>
  /** The entry of a key; one that is not known yet gets the value that the caller has read elsewhere. */
  known(key: K, value: V): Entry<K, V>
  /** The entry of a key if it is known; does not count as a use. */
  peek(key: K): Entry<K, V> | undefined
  /** The entry, to be given a new value: marked as changed, not read. */
  changed(key: K): Entry<K, V>
  /** Entries whose value the column does not show yet: changed, or flushed and not committed. */
  pending(): Set<Entry<K, V>>
  /** Another number whenever `pending` has other members. */
  readonly revision: number
}

/** Fewer keys are not worth being put in order. */
const FEW_KEYS = 32

/**
 * The database takes keys in their own order with half the work: a row goes beside the last one instead of being searched for. Text keys sort like
 * their UTF-8 bytes (but for surrogates, which only costs time). Others are left as they are: their bytes would have to be made first.
 */
function sortForDatabase(entries: Entry<unknown, unknown>[]): void {
  if (entries.length < FEW_KEYS || typeof entries[0].key !== 'string') return
  entries.sort((a, b) => ((a.key as string) < (b.key as string) ? -1 : 1))
}

export function entryCache<K, V>(options: EntryCacheOptions<K, V>): EntryCache<K, V> {
  const { name, read, write } = options
  const keys = options.key
  const keyBytes = byteWriter()
  const guard = storeGuard(name)
  let column: StateColumn
  let cache: ObjectCache<unknown, Entry<K, V>>
  let announced: Entry<K, V>[] = []
  let dirty: Entry<K, V>[] = []
  let flushed: Entry<K, V>[] = []
  let revision = 0
  /** A key is mostly read and then changed. */
  let last: Entry<K, V> | undefined

  function pinned(keep: (key: unknown, entry: Entry<K, V>) => void): void {
    for (const entry of flushed) keep(cacheKey(entry.key), entry)
    for (const entry of dirty) keep(cacheKey(entry.key), entry)
  }

  function cacheKey(key: K): unknown {
    if (typeof key !== 'object') return key
    keyBytes.length = 0
    keys.encode(key, keyBytes)
    return keyBytes.buffer.toString('latin1', 0, keyBytes.length)
  }

  function cached(key: K): Entry<K, V> | undefined {
    if (last !== undefined && last.key === key && typeof key !== 'object') return last
    const entry = cache.get(cacheKey(key))
    if (entry !== undefined) last = entry
    return entry
  }

  function add(key: K, loaded: boolean): Entry<K, V> {
    const entry: Entry<K, V> = { key, value: undefined, loaded, dirty: false, absent: false }
    cache.set(cacheKey(key), entry)
    return entry
  }

  /** Reads entries with one multi-get; one that was given a value meanwhile keeps it. */
  function load(entries: readonly Entry<K, V>[]): void {
    const ends: number[] = []
    keyBytes.length = 0
    for (const entry of entries) {
      options.encodeReadKey(entry.key, keyBytes)
      ends.push(keyBytes.length)
    }
    const found = column.multiGet({ bytes: keyBytes.buffer, ends })
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i]
      if (entry.loaded) continue
      read(entry, found[i])
      entry.loaded = true
    }
  }

  return {
    open(context: StoreContext) {
      column = context.column
      guard.open(context.access)
      cache = objectCache(context.cachedObjects, pinned)
    },
    checkAccess: guard.check,
    prefetch(key) {
      guard.check()
      if (cached(key) === undefined) announced.push(add(key, false))
    },
    loadPrefetched() {
      if (announced.length === 0) return
      sortForDatabase(announced)
      load(announced)
      announced = []
    },
    entry(key) {
      guard.check()
      const entry = cached(key) ?? add(key, false)
      if (!entry.loaded) load([entry])
      last = entry
      return entry
    },
    known(key, value) {
      guard.check()
      const entry = cached(key) ?? add(key, false)
      if (!entry.loaded) entry.value = value
      entry.loaded = true
      return entry
    },
    peek(key) {
      return cache.peek(cacheKey(key))
    },
    changed(key) {
      guard.check()
      const entry = cached(key) ?? add(key, true)
      entry.loaded = true
      if (entry.dirty) return entry
      entry.dirty = true
      dirty.push(entry)
      revision++
      // `last` may have outlived its place in the cache; from now on it must be found.
      cache.set(cacheKey(key), entry)
      return entry
    },
    pending() {
      return new Set([...flushed, ...dirty])
    },
    get revision() {
      return revision
    },
    get dirtyKeys() {
      return dirty.length
    },
    flush(changelog) {
      if (flushed.length > 0) throw new Error(`store ${name} was flushed again before its last flush was committed or discarded`)
      sortForDatabase(dirty)
      for (const entry of dirty) {
        entry.dirty = false
        write(entry, column, changelog)
      }
      flushed = dirty
      dirty = []
    },
    committed() {
      flushed = []
      revision++
    },
    discard() {
      revision++
      announced = []
      dirty = []
      flushed = []
      last = undefined
      cache.clear()
    },
  }
}
