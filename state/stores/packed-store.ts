import { schemaIdOf } from '../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { decodeStored } from './errors.ts'
import type { KeyedStore } from './keyed-store.ts'
import { type ChangedKey, type KeyRange, mergedScan } from './merged-scan.ts'
import { type ByteSpan, keyHash, PackedRows } from './packed-rows.ts'
import { type ChangelogWriter, NO_ROW_PREFIX, type StateColumn, type StoreContext } from './store.ts'
import { storeGuard } from './store-guard.ts'

export interface PackedStoreOptions<K, V> {
  readonly key: Codec<K>
  readonly value: ValueFormat<V>
  /** Whether the store has a changelog. Default true. Use false for state that can be recomputed or may be lost. */
  readonly logged?: boolean
  /**
   * Memory for cached rows, per task, in bytes. The default is the worker's setting. Use 0 for rows that are not read
   * again.
   */
  readonly cacheBytes?: number
}

/**
 * A keyed store that keeps its rows in memory as bytes. It suits very many small rows that are mostly written once and
 * never read again, and rows whose decoded objects are large. Each `get` decodes a row and each `put` encodes it, so
 * callers never share an object. The decoded objects therefore die young, and cost the garbage collector much less than
 * cached objects that die later. The methods for bytes take encoded keys with their `keyHash`.
 */
export interface PackedStore<K, V> extends Omit<KeyedStore<K, V>, 'scrub' | 'roll'> {
  prefetchBytes(key: Uint8Array, start: number, end: number, hash: number): void
  /**
   * Looks for a row.
   * @returns its bytes, valid until the next use of the store; undefined if there is none
   */
  find(key: Uint8Array, start: number, end: number, hash: number): Readonly<ByteSpan> | undefined
  /** Like `find`, but encodes the key itself. */
  findKey(key: K): Readonly<ByteSpan> | undefined
  /** Sets the value of a row, and adds the row if there is none. `value` must contain an encoded value. */
  write(key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan>): void
  /** Like `write`, but encodes the key itself. */
  writeKey(key: K, value: Readonly<ByteSpan>): void
}

interface Change<K> extends ChangedKey {
  readonly key: K
}

const KEY_RESERVE = 4_096

/**
 * Rows are in four tables, which are searched in this order: the changes since the last flush; the changes that were
 * flushed but not committed; and two generations of cached rows. A hit in the old generation copies the row to the
 * young one unless that one is full. A full young generation becomes the old one when another row is cached.
 */
export function packedStore<K, V>(name: string, options: PackedStoreOptions<K, V>): PackedStore<K, V> {
  const keys = options.key
  const keyBytes = byteWriter(KEY_RESERVE)
  const valueBytes = byteWriter()
  const guard = storeGuard(name)
  let changed = new PackedRows()
  /** The rows of `changed` that have changed since `trackChanges`; undefined unless changes are remembered. */
  let tracked: Set<number> | undefined
  let flushed = new PackedRows()
  let young = new PackedRows()
  let old = new PackedRows()
  const announced = new PackedRows()
  /** The key of a row that was not announced and is therefore read on its own. */
  const single = new PackedRows()
  /** The value of the row that was found last. */
  const found: ByteSpan = { buffer: changed.buffer, start: 0, end: 0 }
  let values: Codec<V>
  let column: StateColumn
  let generationBytes = 0
  /** Number of commits. It shows a scan whether the database has changed since the scan began. */
  let commits = 0
  /**
   * The text key in `keyBytes` and its hash. They are reused, because most keys are written right after they were read.
   */
  let lastKey: K | undefined
  let lastHash = 0
  /** The ids of the schemas whose values can be decoded. */
  const readable = new Set<number>()

  /**
   * Looks for a key in the changes and in the cache.
   * @returns `row` if the key has a row (`found` then refers to its value); `none` if the key is known to have no row;
   * `unknown` if the database must be read
   */
  function locate(key: Uint8Array, start: number, end: number, hash: number): 'row' | 'none' | 'unknown' {
    let row = changed.count === 0 ? -1 : changed.find(key, start, end, hash)
    if (row >= 0) return at(changed, row)
    row = flushed.count === 0 ? -1 : flushed.find(key, start, end, hash)
    if (row >= 0) return at(flushed, row)
    row = young.count === 0 ? -1 : young.find(key, start, end, hash)
    if (row >= 0) return at(young, row)
    row = old.count === 0 ? -1 : old.find(key, start, end, hash)
    if (row < 0) return 'unknown'
    const result = at(old, row)
    // Adding to a full young generation would reuse the memory of the old generation, which contains the row.
    if (young.size <= generationBytes) put(young, key, start, end, hash, result === 'row' ? found : undefined)
    return result
  }

  function at(rows: PackedRows, row: number): 'row' | 'none' {
    if (!rows.hasValue(row)) return 'none'
    found.buffer = rows.buffer
    found.start = rows.valueStart(row)
    found.end = rows.valueEnd(row)
    return 'row'
  }

  /** Caches a row of the column, or the fact that the row does not exist. */
  function remember(key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan> | undefined): void {
    if (young.size > generationBytes) {
      const cleared = old
      old = young
      young = cleared
      young.clear()
    }
    put(young, key, start, end, hash, value)
  }

  /** Sets or removes the value of a key. @returns the row of the key */
  function put(rows: PackedRows, key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan> | undefined): number {
    const row = rows.findOrAdd(key, start, end, hash)
    if (value === undefined) rows.removeValue(row)
    else rows.setValue(row, value.buffer, value.start, value.end)
    return row
  }

  function change(key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan> | undefined): void {
    const row = put(changed, key, start, end, hash, value)
    tracked?.add(row)
  }

  /** Passes a changed row to the changelog and to the column, if they are given. */
  function passRow(row: number, changelog: ChangelogWriter | undefined, to?: StateColumn): void {
    const { buffer } = changed
    const keyStart = changed.keyStart(row)
    const keyEnd = changed.keyEnd(row)
    const value = changed.hasValue(row) ? buffer : null
    const valueStart = value === null ? 0 : changed.valueStart(row)
    const valueEnd = value === null ? 0 : changed.valueEnd(row)
    changelog?.append(buffer, keyStart, keyEnd, value, valueStart, valueEnd)
    to?.put(buffer, keyStart, keyEnd, value, valueStart, valueEnd)
  }

  function announce(key: Uint8Array, start: number, end: number, hash: number): void {
    guard.check()
    if (locate(key, start, end, hash) === 'unknown' && announced.find(key, start, end, hash) < 0) announced.add(key, start, end, hash)
  }

  /**
   * Reads the rows of several keys into the cache.
   * @returns the size of the values in bytes
   */
  function load(wanted: PackedRows): number {
    const { buffer } = wanted
    // A database finds neighbouring keys faster than keys in random order.
    const order = wanted.roughlySorted()
    const starts: number[] = []
    const ends: number[] = []
    for (const row of order) {
      starts.push(wanted.keyStart(row))
      ends.push(wanted.keyEnd(row))
    }
    const rows = column.multiGet({ bytes: buffer, starts, ends })
    for (const value of rows) if (value !== undefined) checkSchema(value)
    let bytes = 0
    for (let i = 0; i < rows.length; i++) {
      const value = rows[i]
      const span = value && { buffer: value, start: 0, end: value.length }
      bytes += value?.length ?? 0
      remember(buffer, starts[i], ends[i], wanted.hashOf(order[i]), span)
    }
    wanted.clear()
    return bytes
  }

  /**
   * Decodes the first value of each schema. If a schema is not loaded yet, the error thus occurs while rows are loaded,
   * and not when a processor uses a row.
   */
  function checkSchema(value: Buffer): void {
    if (options.value.schema === undefined) return
    const id = schemaIdOf(value)
    if (id !== undefined && readable.has(id)) return
    decodeStored(values, value, name)
    if (id !== undefined) readable.add(id)
  }

  function find(key: Uint8Array, start: number, end: number, hash: number): Readonly<ByteSpan> | undefined {
    guard.check()
    return rowOf(key, start, end, hash)
  }

  function rowOf(key: Uint8Array, start: number, end: number, hash: number): Readonly<ByteSpan> | undefined {
    let known = locate(key, start, end, hash)
    if (known === 'unknown') {
      single.clear()
      single.add(key, start, end, hash)
      load(single)
      known = locate(key, start, end, hash)
    }
    return known === 'row' ? found : undefined
  }

  function findKey(key: K): Readonly<ByteSpan> | undefined {
    const hash = encoded(key)
    return find(keyBytes.buffer, 0, keyBytes.length, hash)
  }

  /**
   * Encodes the key into `keyBytes`.
   * @returns its hash
   */
  function encoded(key: K): number {
    if (key !== undefined && key === lastKey) return lastHash
    lastKey = undefined
    keyBytes.length = 0
    keys.encode(key, keyBytes)
    lastHash = keyHash(keyBytes.buffer, 0, keyBytes.length)
    if (typeof key === 'string') lastKey = key
    return lastHash
  }

  function decoded({ buffer, start, end }: Readonly<ByteSpan>): V {
    return decodeStored(values, buffer, name, start, end)
  }

  /** Returns the keys of all changes in key order. */
  function sortedChanges(): Change<K>[] {
    const changes = new Map<string, Change<K>>()
    for (const rows of [flushed, changed]) {
      for (let row = 0; row < rows.count; row++) {
        const bytes = Buffer.from(rows.buffer.subarray(rows.keyStart(row), rows.keyEnd(row)))
        changes.set(bytes.toString('latin1'), { bytes, key: keys.decode(bytes, 0, bytes.length) })
      }
    }
    return [...changes.values()].sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  }

  function ofChange({ bytes, key }: Change<K>): [K, V] | undefined {
    // The change may have been committed and evicted from the cache while the scan ran.
    const row = rowOf(bytes, 0, bytes.length, keyHash(bytes, 0, bytes.length))
    return row && [key, decoded(row)]
  }

  /** @param mayBeOld true if the row may have been replaced by a commit since the scan began */
  function ofRow([bytes, value]: readonly [Buffer, Buffer], mayBeOld: boolean): [K, V] | undefined {
    const key = keys.decode(bytes, 0, bytes.length)
    const hash = keyHash(bytes, 0, bytes.length)
    for (const rows of [changed, flushed]) {
      const row = rows.count === 0 ? -1 : rows.find(bytes, 0, bytes.length, hash)
      if (row >= 0) return at(rows, row) === 'row' ? [key, decoded(found)] : undefined
    }
    return mayBeOld ? ofChange({ bytes, key }) : [key, decodeStored(values, value, name)]
  }

  return {
    name,
    values: options.value as ValueFormat<unknown>,
    logged: options.logged ?? true,
    erasable: false,
    lookup: { key: keys, rowPrefix: NO_ROW_PREFIX, view: (stored) => stored as V },
    open(context: StoreContext) {
      values = context.codec as Codec<V>
      column = context.column
      generationBytes = (options.cacheBytes ?? context.cacheBytes) / 2
      guard.open(context.access)
    },
    prefetchFor() {
      // Batches need no bookkeeping. `loadPrefetched` puts the rows that it reads into the young generation, so they
      // stay cached until the next generation is full.
    },
    prefetch(key) {
      guard.check()
      let hash: number
      try {
        hash = encoded(key)
      } catch {
        return // The processor that uses the key gets the error.
      }
      announce(keyBytes.buffer, 0, keyBytes.length, hash)
    },
    prefetchBytes: announce,
    loadPrefetched: () => (announced.count > 0 ? load(announced) : 0),
    find,
    findKey,
    get(key) {
      const row = findKey(key)
      return row && decoded(row)
    },
    put(key, value) {
      guard.check()
      const hash = encoded(key)
      valueBytes.length = 0
      values.encode(value, valueBytes)
      change(keyBytes.buffer, 0, keyBytes.length, hash, { buffer: valueBytes.buffer, start: 0, end: valueBytes.length })
    },
    write(key, start, end, hash, value) {
      guard.check()
      change(key, start, end, hash, value)
    },
    writeKey(key, value) {
      guard.check()
      const hash = encoded(key)
      change(keyBytes.buffer, 0, keyBytes.length, hash, value)
    },
    delete(key) {
      guard.check()
      const hash = encoded(key)
      change(keyBytes.buffer, 0, keyBytes.length, hash, undefined)
    },
    scan(range: KeyRange<K> = {}) {
      guard.check()
      const bytesOf = (key: K) => {
        encoded(key)
        return Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length))
      }
      const begun = commits
      const isFromBefore = () => range.omitsNew === true && commits !== begun
      return mergedScan(range, bytesOf, { column, sortedChanges, ofChange, ofRow: (row) => ofRow(row, isFromBefore()) })
    },
    get dirtyKeys() {
      return changed.count
    },
    get dirtyBytes() {
      return changed.currentBytes
    },
    flush(changelog) {
      if (flushed.count > 0) throw new Error(`store ${name} was flushed again before its last flush was committed or discarded`)
      for (const row of changed.roughlySorted()) passRow(row, changelog, column)
      const empty = flushed
      flushed = changed
      changed = empty
      tracked = undefined
    },
    trackChanges() {
      tracked = new Set()
    },
    checkChanges(check) {
      for (const row of tracked ?? []) passRow(row, check)
      tracked?.clear()
    },
    committed() {
      commits++
      if (generationBytes === 0) {
        young.clear()
        old.clear()
      }
      for (let row = 0; row < flushed.count && generationBytes > 0; row++) {
        const known = at(flushed, row)
        remember(flushed.buffer, flushed.keyStart(row), flushed.keyEnd(row), flushed.hashOf(row), known === 'row' ? found : undefined)
      }
      flushed.clear()
    },
    discard() {
      tracked = undefined
      for (const rows of [changed, flushed, young, old, announced]) rows.clear()
    },
  }
}
