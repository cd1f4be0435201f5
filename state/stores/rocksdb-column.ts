import { copyBytes } from '../../schemas/copy-bytes.ts'
import { PREFIX_BYTES, spacePrefix, writePrefix } from './key-spaces.ts'
import type { Batch, IteratorOptions, RocksdbBinding } from './rocksdb-binding.ts'
import type { LiveDatabase } from './rocksdb-live.ts'
import type { ByteRange, PackedKeys, StateColumn } from './store.ts'

/** The key space that contains a column's rows. `clear` replaces it. */
export interface ColumnSpace {
  space: number
}

/** The resources that all columns of a session share. */
export interface ColumnDatabase {
  readonly binding: RocksdbBinding
  readonly live: Pick<LiveDatabase, 'current' | 'iterate'>
  /** The open batch, which `takeBatch` replaces. */
  readonly open: { readonly batch: Batch }
  readonly keys: Scratch
  readonly values: Scratch
  scrub(): void
}

/**
 * A reusable buffer with one cached view per length. The binding accepts only whole buffers, and a new view per key
 * would create garbage.
 */
export interface Scratch {
  readonly bytes: Buffer
  first(length: number): Buffer
}

/** Size of the scratch buffers. Longer keys and values get separate buffers. */
const SCRATCH_BYTES = 4096
/**
 * Number of rows that the first call fetches from the iterator. It is small, because many scans stop after the first
 * row. Later calls fetch more rows, so that long scans need few calls.
 */
const FIRST_FETCH = 8
const GROWTH = 8
const MOST_PER_FETCH = 512
/** The binding reads limits as 32-bit integers, and a negative limit as no limit. */
const MAX_LIMIT = 2 ** 31 - 1
const NO_LIMIT = -1
/**
 * A fetch ends with the first row that makes it exceed this size. This limits the memory that a scan of large rows
 * takes.
 */
const FETCH_BYTES = 256 * 1024

/**
 * Creates one store's view of the database. It adds the prefix of the key space to each key, and removes the prefix
 * from the keys that it returns.
 */
export function rocksdbColumn(shared: ColumnDatabase, at: ColumnSpace, failed: (error: unknown) => Error): StateColumn {
  const { binding, live, open, keys, values } = shared

  /** Returns the key with its prefix. The returned bytes are valid until the next call. */
  function prefixedKey(key: Uint8Array, start: number, end: number): Uint8Array {
    const length = PREFIX_BYTES + end - start
    if (length > SCRATCH_BYTES) return Buffer.concat([spacePrefix(at.space), key.subarray(start, end)])
    writePrefix(keys.bytes, 0, at.space)
    copyBytes(key, start, end, keys.bytes, PREFIX_BYTES)
    return keys.first(length)
  }

  function bounds(range: ByteRange): { gte: Buffer; lt: Buffer } {
    const prefix = spacePrefix(at.space)
    return {
      gte: range.gte ? Buffer.concat([prefix, range.gte]) : prefix,
      lt: range.lt ? Buffer.concat([prefix, range.lt]) : spacePrefix(at.space + 1),
    }
  }

  function* rows(range: ByteRange): Generator<readonly [Buffer, Buffer]> {
    const { reverse = false, limit = Infinity } = range
    const options: IteratorOptions = {
      ...bounds(range),
      reverse,
      limit: limit > MAX_LIMIT ? NO_LIMIT : limit,
      highWaterMarkBytes: FETCH_BYTES,
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
    }
    const { iterator, close } = translatingErrors(() => live.iterate(options))
    try {
      for (let count = FIRST_FETCH; ; count = Math.min(count * GROWTH, MOST_PER_FETCH)) {
        const fetched = translatingErrors(() => binding.iterator_nextv_sync(iterator, count))
        for (let row = 0; row < fetched.rows.length; row += 2) {
          yield [fetched.rows[row].subarray(PREFIX_BYTES), fetched.rows[row + 1]]
        }
        if (fetched.finished) return
      }
    } finally {
      close()
    }
  }

  function translatingErrors<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw failed(error)
    }
  }

  return {
    scrub: shared.scrub,

    multiGet({ bytes, starts, ends }: PackedKeys) {
      let keyBytes = 0
      for (let key = 0; key < ends.length; key++) keyBytes += ends[key] - startOf(key)
      const packed = Buffer.allocUnsafe(keyBytes + ends.length * PREFIX_BYTES)
      const prefixed: Buffer[] = []
      let to = 0
      for (let key = 0; key < ends.length; key++) {
        writePrefix(packed, to, at.space)
        const end = copyBytes(bytes, startOf(key), ends[key], packed, to + PREFIX_BYTES)
        prefixed.push(packed.subarray(to, end))
        to = end
      }
      return translatingErrors(() => binding.db_get_many_sync(live.current, prefixed, undefined))

      function startOf(key: number): number {
        if (starts !== undefined) return starts[key]
        return key === 0 ? 0 : ends[key - 1]
      }
    },

    scan(range) {
      return range.limit === 0 ? [] : rows(range)
    },

    put(key, keyStart, keyEnd, value, valueStart, valueEnd) {
      const prefixed = prefixedKey(key, keyStart, keyEnd)
      if (value === null) {
        binding.batch_del(open.batch, prefixed, undefined)
        return
      }
      const length = valueEnd - valueStart
      if (length > SCRATCH_BYTES) {
        binding.batch_put(open.batch, prefixed, value.subarray(valueStart, valueEnd), undefined)
        return
      }
      copyBytes(value, valueStart, valueEnd, values.bytes, 0)
      binding.batch_put(open.batch, prefixed, values.first(length), undefined)
    },
  }
}

export function scratch(): Scratch {
  const bytes = Buffer.alloc(SCRATCH_BYTES)
  const views: Buffer[] = []
  return {
    bytes,
    first(length) {
      views[length] ??= bytes.subarray(0, length)
      return views[length]
    },
  }
}
