import { type ByteWriter, byteWriter, type Codec } from '../../schemas/codec.ts'
import { LEVELS_TO_READ, LEVELS_TO_WRITE, sortForDatabase } from './database-order.ts'
import { isStateFailure } from './errors.ts'
import { type ObjectCache, objectCache } from './object-cache.ts'
import type { ChangelogWriter, EngineStore, RecordSlot, StateColumn, StoreContext } from './store.ts'
import { storeGuard } from './store-guard.ts'

/** The cached state of one key. */
export interface Entry<K, V> {
  readonly key: K
  /**
   * The key under which the cache stores the entry. Keys that are objects are replaced by their bytes as text, so that
   * equal keys have equal ids.
   */
  readonly id: unknown
  value: V | undefined
  /** False while a prefetched key has not been read yet. */
  loaded: boolean
  /** True when the value has changed since the last flush. */
  dirty: boolean
  /**
   * True when the key is known to have no rows in the column, so that deleting it needs no tombstone. Stores that use
   * this flag set it in `read` and `write`.
   */
  absent: boolean
  /** Estimated size in memory; see `ENTRY_BYTES`. */
  bytes: number
  /** The generation of the cache in which the entry was last set. */
  generation: number
}

/**
 * Memory of a cached entry in addition to its encoded key and value. It covers the entry's objects and its slot in the
 * cache.
 */
export const ENTRY_BYTES = 200

export interface EntryCacheOptions<K, V> {
  readonly name: string
  readonly key: Codec<K>
  /**
   * Appends the key of the row to read: the encoded key, preceded by a prefix in stores that keep several kinds of
   * rows.
   */
  encodeReadKey(key: K, out: ByteWriter): void
  /** Maximum size of the cached entries in bytes. Undefined selects `cacheBytes` of the context. */
  readonly cacheBytes: number | undefined
  /** @param bytes the stored value; undefined when the row does not exist */
  read(entry: Entry<K, V>, bytes: Buffer | undefined): void
  /**
   * Writes the rows of a changed entry to the changelog and the column.
   * @returns the size of the encoded key and value, or 0 if nothing was written
   */
  write(entry: Entry<K, V>, column: StateColumn, changelog: ChangelogWriter | undefined): number
}

/**
 * What keyed stores and timer stores have in common: a cache of entries that were read or changed, and the list of
 * changes that are not written yet.
 */
export interface EntryCache<K, V> extends Omit<EngineStore, 'name' | 'values' | 'logged' | 'trackChanges' | 'checkChanges'> {
  /**
   * Checks that the running node may use the store (see `StoreGuard`). The methods of this interface with a key
   * parameter perform the check themselves, except for `peek`. A store's method that calls none of those methods must
   * call `checkAccess`.
   */
  checkAccess(): void
  prefetchFor(batch: number): void
  prefetch(key: K): void
  /** Returns the entry of a key. Reads the entry if it is not cached. */
  entry(key: K): Entry<K, V>
  /**
   * Returns the entry of a key. An entry that is new or not loaded yet gets `value`, which the caller has read itself.
   */
  known(key: K, value: V): Entry<K, V>
  /** Returns the entry of a key if it is cached. The call does not count as a use of the entry. */
  peek(key: K): Entry<K, V> | undefined
  /** Returns the entry of a key that is about to be overwritten. Marks it as changed without reading it. */
  changed(key: K): Entry<K, V>
  /**
   * Returns the entries whose values are not in the column yet: changed entries, and flushed entries that are not
   * committed.
   */
  pending(): Set<Entry<K, V>>
  /** Increases whenever the members of `pending` may have changed. */
  readonly revision: number
  /** See `EngineStore`. */
  trackChanges(): void
  /** Returns the entries that have changed since `trackChanges` or the last call of this method. */
  takeTracked(): ReadonlySet<Entry<K, V>>
}

/**
 * Size of a row, in bytes, that is assumed until the first flush shows the real mean. Most rows are smaller, so the
 * estimate ends the first transaction too early rather than too late.
 */
const FIRST_ROW_BYTES = 4_096

/** The slot of every record if the context provides no slots. */
const NO_SLOT: RecordSlot = { source: 0, slot: -1 }

export function entryCache<K, V>(options: EntryCacheOptions<K, V>): EntryCache<K, V> {
  const { name, read, write } = options
  const keys = options.key
  const keyBytes = byteWriter()
  const guard = storeGuard(name)
  let column: StateColumn
  let record = NO_SLOT
  let cache: ObjectCache<unknown, Entry<K, V>>
  let announced: Entry<K, V>[] = []
  /**
   * The prefetched entries of each source's current batch. They stay in the cache until the source's next batch begins,
   * or until `discard`.
   */
  let batches: Entry<K, V>[][] = []
  /**
   * For each batch and slot, the index in the batch of the first entry that was announced for the record in the slot.
   * The other entries that the same processor announced for the record follow it. The entries belong to the batch, so
   * the cache does not evict them.
   */
  let slots: number[][] = []
  /** The slots of the batch whose reads are being announced; undefined outside of a batch. */
  let announcing: number[] | undefined
  /** The slot of the last record that used its announced entries, and the index of the entry that it may use next. */
  let usedSource = -1
  let usedSlot = -1
  let nextUse = 0
  /**
   * The entries that were prefetched outside of batches and then loaded. They stay in the cache until the next load or
   * flush.
   */
  let loose: Entry<K, V>[] = []
  /** The entries that were prefetched since the last load, or since the batch began. */
  let current: Entry<K, V>[] = []
  let dirty: Entry<K, V>[] = []
  let flushed: Entry<K, V>[] = []
  /** The entries that have changed since `trackChanges`; undefined unless changes are remembered. */
  let tracked: Set<Entry<K, V>> | undefined
  /** Mean size of a row in the last flush. The sizes of changed rows are unknown until they are encoded. */
  let meanRowBytes = FIRST_ROW_BYTES
  let revision = 0
  /**
   * The last entry that was used. Most keys are changed right after they were read, so the next call often needs the
   * same entry.
   */
  let last: Entry<K, V> | undefined

  function pinned(keep: (key: unknown, entry: Entry<K, V>) => void): void {
    for (const entry of flushed) keep(entry.id, entry)
    for (const entry of dirty) keep(entry.id, entry)
    for (const batch of [...batches, loose, current]) for (const entry of batch) keep(entry.id, entry)
  }

  function cacheKey(key: K): unknown {
    if (typeof key !== 'object') return key
    keyBytes.length = 0
    keys.encode(key, keyBytes)
    return keyBytes.buffer.toString('latin1', 0, keyBytes.length)
  }

  function cached(id: unknown): Entry<K, V> | undefined {
    if (last !== undefined && last.id === id) return last
    const entry = announcedHere(id) ?? cache.get(id)
    if (entry !== undefined) last = entry
    return entry
  }

  /**
   * Returns the entry of a key if it is the next or the first key that the record announced. Most records use their
   * keys in the announced order.
   */
  function announcedHere(id: unknown): Entry<K, V> | undefined {
    const { source, slot } = record
    const first = slots[source]?.[slot]
    if (first === undefined) return undefined
    if (slot !== usedSlot || source !== usedSource) {
      usedSource = source
      usedSlot = slot
      nextUse = first
    }
    const batch = batches[source]
    const next = batch[nextUse]
    if (next?.id === id) {
      nextUse++
      return next
    }
    return batch[first].id === id ? batch[first] : undefined
  }

  function add(key: K, id: unknown, loaded: boolean): Entry<K, V> {
    const entry: Entry<K, V> = { key, id, value: undefined, loaded, dirty: false, absent: false, bytes: ENTRY_BYTES, generation: 0 }
    keep(entry)
    return entry
  }

  function keep(entry: Entry<K, V>): void {
    cache.set(entry.id, entry)
    entry.generation = cache.generation
  }

  /**
   * Reads entries with one multi-get. An entry whose value was set after it was announced keeps that value.
   * @returns the size of the values in bytes
   */
  function load(entries: readonly Entry<K, V>[]): number {
    const ends: number[] = []
    let start = 0
    let total = 0
    keyBytes.length = 0
    for (const entry of entries) {
      options.encodeReadKey(entry.key, keyBytes)
      ends.push(keyBytes.length)
    }
    const found = column.multiGet({ bytes: keyBytes.buffer, ends })
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i]
      const valueBytes = found[i]?.length ?? 0
      const bytes = ENTRY_BYTES + ends[i] - start + valueBytes
      total += valueBytes
      start = ends[i]
      if (entry.loaded) continue
      read(entry, found[i])
      entry.loaded = true
      resize(entry, bytes)
    }
    return total
  }

  function loadAnnounced(): number {
    announced = sortForDatabase(announced, LEVELS_TO_READ)
    let bytes = 0
    try {
      bytes = load(announced)
    } catch (error) {
      if (isStateFailure(error)) throw error
      // The codec has refused one of the keys. Each entry is therefore read when a processor uses it, and only the
      // processor that uses the refused key gets the error.
    }
    announced = []
    return bytes
  }

  function resize(entry: Entry<K, V>, bytes: number): void {
    cache.grew(bytes - entry.bytes)
    entry.bytes = bytes
  }

  return {
    open(context: StoreContext) {
      column = context.column
      record = context.record ?? NO_SLOT
      guard.open(context.access)
      cache = objectCache(options.cacheBytes ?? context.cacheBytes, pinned, (entry) => entry.bytes)
    },
    checkAccess: guard.check,
    prefetchFor(batch) {
      current = []
      // Sources with lower numbers that announce no reads get empty batches.
      while (batches.length < batch) batches.push([])
      batches[batch] = current
      announcing = []
      slots[batch] = announcing
      usedSlot = -1
    },
    prefetch(key) {
      guard.check()
      let id: unknown
      try {
        id = cacheKey(key)
      } catch {
        return // The processor that uses the key gets the error.
      }
      let entry = last?.id === id ? last : cache.get(id)
      if (entry === undefined) {
        entry = add(key, id, false)
        announced.push(entry)
      }
      // The cache may have evicted the entry in `last`. A prefetched entry must be in the cache. Otherwise a record
      // that uses the key without announcing it would get another entry, and one of the two would lose its changes.
      else if (entry.generation !== cache.generation) keep(entry)
      last = entry
      if (announcing !== undefined && record.slot >= 0) announcing[record.slot] ??= current.length
      current.push(entry)
    },
    loadPrefetched() {
      announcing = undefined
      const bytes = announced.length > 0 ? loadAnnounced() : 0
      if (current.length === 0) return bytes
      loose = batches.includes(current) ? [] : current
      current = []
      return bytes
    },
    entry(key) {
      guard.check()
      const id = cacheKey(key)
      const entry = cached(id) ?? add(key, id, false)
      if (!entry.loaded) load([entry])
      last = entry
      return entry
    },
    known(key, value) {
      guard.check()
      const id = cacheKey(key)
      const entry = cached(id) ?? add(key, id, false)
      if (!entry.loaded) entry.value = value
      entry.loaded = true
      return entry
    },
    peek(key) {
      return cache.peek(cacheKey(key))
    },
    changed(key) {
      guard.check()
      const id = cacheKey(key)
      const entry = cached(id) ?? add(key, id, true)
      entry.loaded = true
      tracked?.add(entry)
      if (entry.dirty) return entry
      entry.dirty = true
      dirty.push(entry)
      revision++
      // The cache may have evicted the entry in `last`. A changed entry must be in the cache.
      if (entry.generation !== cache.generation) keep(entry)
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
    get dirtyBytes() {
      return dirty.length * meanRowBytes
    },
    trackChanges() {
      tracked = new Set()
    },
    takeTracked() {
      const taken = tracked ?? new Set()
      tracked &&= new Set()
      return taken
    },
    flush(changelog) {
      if (flushed.length > 0) throw new Error(`store ${name} was flushed again before its last flush was committed or discarded`)
      dirty = sortForDatabase(dirty, LEVELS_TO_WRITE)
      let total = 0
      for (const entry of dirty) {
        entry.dirty = false
        const written = write(entry, column, changelog)
        total += written
        if (written > 0) resize(entry, ENTRY_BYTES + written)
      }
      if (dirty.length > 0) meanRowBytes = total / dirty.length
      flushed = dirty
      dirty = []
      loose = []
      tracked = undefined
    },
    committed() {
      flushed = []
      revision++
    },
    discard() {
      revision++
      announced = []
      batches = []
      slots = []
      usedSlot = -1
      announcing = undefined
      loose = []
      current = []
      dirty = []
      flushed = []
      tracked = undefined
      last = undefined
      cache.clear()
    },
  }
}
