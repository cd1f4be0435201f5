import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { utf8 } from '../../schemas/keys.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { decodeStored } from './errors.ts'
import type { KeyedStore } from './keyed-store.ts'
import { type ChangedKey, type KeyRange, mergedScan } from './merged-scan.ts'
import { type ByteSpan, keyHash, PackedRows } from './packed-rows.ts'
import type { StateColumn, StoreContext } from './store.ts'
import { storeGuard } from './store-guard.ts'

export interface PackedStoreOptions<V> {
  readonly value: ValueFormat<V>
  /** Memory for cached rows, per task. Default: that of the worker. */
  readonly cacheBytes?: number
}

/**
 * A keyed store whose rows stay bytes in memory, for very many small rows of which most are written once and never read
 * again. `get` decodes a row at each call, so values are not shared. The methods for bytes take UTF-8 keys with their
 * `keyHash`; a key must be valid UTF-8.
 */
export interface PackedStore<V> extends Omit<KeyedStore<string, V>, 'scrub' | 'roll'> {
  prefetchBytes(key: Uint8Array, start: number, end: number, hash: number): void
  /**
   * Looks for a row.
   * @returns its bytes, valid until the next use of the store; undefined if there is none
   */
  find(key: Uint8Array, start: number, end: number, hash: number): Readonly<ByteSpan> | undefined
  /** Does the same with a key as text. */
  findText(key: string): Readonly<ByteSpan> | undefined
  /** Replaces a row by these bytes, which must be an encoded value. */
  write(key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan>): void
}

interface Change extends ChangedKey {
  readonly key: string
}

const KEY_RESERVE = 4_096

/**
 * Rows are in four tables, which are searched in this order: the changes since the last flush; the changes that were
 * flushed but not committed; and two generations of cached rows. A hit in the old generation copies the row to the
 * young one, and a full young generation becomes the old one.
 */
export function packedStore<V>(name: string, options: PackedStoreOptions<V>): PackedStore<V> {
  const keyBytes = byteWriter(KEY_RESERVE)
  const valueBytes = byteWriter()
  const guard = storeGuard(name)
  let changed = new PackedRows()
  let flushed = new PackedRows()
  let young = new PackedRows()
  let old = new PackedRows()
  const announced = new PackedRows()
  /** The row that was found last. */
  const found: ByteSpan = { buffer: changed.buffer, start: 0, end: 0 }
  let values: Codec<V>
  let column: StateColumn
  let generationBytes = 0

  /** @returns whether it is known if the key has a row; if it has one, `found` is that row */
  function locate(key: Uint8Array, start: number, end: number, hash: number): 'row' | 'none' | 'unknown' {
    for (const rows of [changed, flushed, young]) {
      const row = rows.count === 0 ? -1 : rows.find(key, start, end, hash)
      if (row >= 0) return at(rows, row)
    }
    const row = old.count === 0 ? -1 : old.find(key, start, end, hash)
    if (row < 0) return 'unknown'
    const result = at(old, row)
    // A full young generation would take the memory of the old one, which has the row.
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

  /** Keeps a row of the column, or the fact that there is none, in the cache. */
  function remember(key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan> | undefined): void {
    if (young.size > generationBytes) {
      const cleared = old
      old = young
      young = cleared
      young.clear()
    }
    put(young, key, start, end, hash, value)
  }

  function put(rows: PackedRows, key: Uint8Array, start: number, end: number, hash: number, value: Readonly<ByteSpan> | undefined): void {
    let row = rows.find(key, start, end, hash)
    if (row < 0) row = rows.add(key, start, end, hash)
    if (value === undefined) rows.removeValue(row)
    else rows.setValue(row, value.buffer, value.start, value.end)
  }

  function announce(key: Uint8Array, start: number, end: number, hash: number): void {
    guard.check()
    if (locate(key, start, end, hash) === 'unknown' && announced.find(key, start, end, hash) < 0) announced.add(key, start, end, hash)
  }

  function load(keys: PackedRows): void {
    const { buffer, count } = keys
    const ends = Array.from({ length: count }, (_, row) => keys.keyEnd(row))
    const rows = column.multiGet({ bytes: buffer.subarray(0, keys.bytes), ends })
    for (let row = 0; row < count; row++) {
      const value = rows[row]
      const span = value && { buffer: value, start: 0, end: value.length }
      remember(buffer, keys.keyStart(row), keys.keyEnd(row), keys.hashOf(row), span)
    }
    keys.clear()
  }

  function find(key: Uint8Array, start: number, end: number, hash: number): Readonly<ByteSpan> | undefined {
    guard.check()
    let known = locate(key, start, end, hash)
    if (known === 'unknown') {
      const single = new PackedRows()
      single.add(key, start, end, hash)
      load(single)
      known = locate(key, start, end, hash)
    }
    return known === 'row' ? found : undefined
  }

  function findText(key: string): Readonly<ByteSpan> | undefined {
    const hash = encoded(key)
    return find(keyBytes.buffer, 0, keyBytes.length, hash)
  }

  /** Encodes the key into `keyBytes`. @returns its hash */
  function encoded(key: string): number {
    keyBytes.length = 0
    utf8.encode(key, keyBytes)
    return keyHash(keyBytes.buffer, 0, keyBytes.length)
  }

  function decoded({ buffer, start, end }: Readonly<ByteSpan>): V {
    return decodeStored(values, buffer, name, start, end)
  }

  /** Returns the keys of all changes in key order. */
  function sortedChanges(): Change[] {
    const changes = new Map<string, Change>()
    for (const rows of [flushed, changed]) {
      for (let row = 0; row < rows.count; row++) {
        const bytes = Buffer.from(rows.buffer.subarray(rows.keyStart(row), rows.keyEnd(row)))
        const key = bytes.toString()
        changes.set(key, { bytes, key })
      }
    }
    return [...changes.values()].sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  }

  function ofChange({ bytes, key }: Change): [string, V] | undefined {
    const row = locate(bytes, 0, bytes.length, keyHash(bytes, 0, bytes.length))
    return row === 'row' ? [key, decoded(found)] : undefined
  }

  function ofRow([bytes, value]: readonly [Buffer, Buffer]): [string, V] | undefined {
    const key = bytes.toString()
    const hash = keyHash(bytes, 0, bytes.length)
    for (const rows of [changed, flushed]) {
      const row = rows.count === 0 ? -1 : rows.find(bytes, 0, bytes.length, hash)
      if (row >= 0) return at(rows, row) === 'row' ? [key, decoded(found)] : undefined
    }
    return [key, decodeStored(values, value, name)]
  }

  return {
    name,
    values: options.value as ValueFormat<unknown>,
    logged: true,
    erasable: false,
    lookup: { key: utf8, encodeRow: utf8.encode, view: (stored) => stored as V },
    open(context: StoreContext) {
      values = context.codec as Codec<V>
      column = context.column
      generationBytes = (options.cacheBytes ?? context.cacheBytes) / 2
      guard.open(context.access)
    },
    prefetchFor() {
      // Prefetched rows are in the young generation, and stay for at least another generation.
    },
    prefetch(key) {
      const hash = encoded(key)
      announce(keyBytes.buffer, 0, keyBytes.length, hash)
    },
    prefetchBytes: announce,
    loadPrefetched() {
      if (announced.count > 0) load(announced)
    },
    find,
    findText,
    get(key) {
      const row = findText(key)
      return row && decoded(row)
    },
    put(key, value) {
      guard.check()
      const hash = encoded(key)
      valueBytes.length = 0
      values.encode(value, valueBytes)
      put(changed, keyBytes.buffer, 0, keyBytes.length, hash, { buffer: valueBytes.buffer, start: 0, end: valueBytes.length })
    },
    write(key, start, end, hash, value) {
      guard.check()
      put(changed, key, start, end, hash, value)
    },
    delete(key) {
      guard.check()
      const hash = encoded(key)
      put(changed, keyBytes.buffer, 0, keyBytes.length, hash, undefined)
    },
    scan(range: KeyRange<string> = {}) {
      guard.check()
      const bytesOf = (key: string) => {
        encoded(key)
        return Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length))
      }
      return mergedScan(range, bytesOf, { column, sortedChanges, ofChange, ofRow })
    },
    get dirtyKeys() {
      return changed.count
    },
    flush(changelog) {
      if (flushed.count > 0) throw new Error(`store ${name} was flushed again before its last flush was committed or discarded`)
      const { buffer } = changed
      for (const row of changed.roughlySorted()) {
        const keyStart = changed.keyStart(row)
        const keyEnd = changed.keyEnd(row)
        const value = changed.hasValue(row) ? buffer : null
        const valueStart = value === null ? 0 : changed.valueStart(row)
        const valueEnd = value === null ? 0 : changed.valueEnd(row)
        changelog?.append(buffer, keyStart, keyEnd, value, valueStart, valueEnd)
        column.put(buffer, keyStart, keyEnd, value, valueStart, valueEnd)
      }
      const empty = flushed
      flushed = changed
      changed = empty
    },
    committed() {
      for (let row = 0; row < flushed.count; row++) {
        const known = at(flushed, row)
        remember(flushed.buffer, flushed.keyStart(row), flushed.keyEnd(row), flushed.hashOf(row), known === 'row' ? found : undefined)
      }
      flushed.clear()
    },
    discard() {
      for (const rows of [changed, flushed, young, old, announced]) rows.clear()
    },
  }
}
