import { createRequire } from 'node:module'

/**
 * The functions of the native binding that the backend calls directly. The package's wrapper class is too slow for the
 * hot path: it adds a promise or callback per operation, and an options object whose properties the binding reads for
 * every key.
 */
export interface RocksdbBinding {
  db_init(folder: string): Database
  db_open(db: Database, options: DatabaseOptions, done: (error: Error | null) => void): void
  db_close(db: Database, done: (error: Error | null) => void): void
  db_get_many_sync(db: Database, keys: readonly Buffer[], options: undefined): (Buffer | undefined)[]
  /** Deletes a range immediately, not as part of a batch. */
  db_clear(db: Database, range: { gte: Buffer; lt: Buffer }): void
  db_get_property(db: Database, name: string): string
  iterator_init(db: Database, options: IteratorOptions): RowIterator
  /** Rows are returned as a flat array: key, value, key, value. */
  iterator_nextv_sync(iterator: RowIterator, count: number): { rows: Buffer[]; finished: boolean }
  iterator_close(iterator: RowIterator): void
  batch_init(): Batch
  batch_put(batch: Batch, key: Uint8Array, value: Uint8Array, options: undefined): void
  batch_del(batch: Batch, key: Uint8Array, options: undefined): void
  batch_clear(batch: Batch): void
  batch_count(batch: Batch): number
  batch_write(db: Database, batch: Batch, options: { sync: boolean } | undefined): void
}

declare const kind: unique symbol
export type Database = { readonly [kind]: 'database' }
export type Batch = { readonly [kind]: 'batch' }
export type RowIterator = { readonly [kind]: 'iterator' }

export interface DatabaseOptions {
  createIfMissing: boolean
  /** Background threads for flushes and compactions. */
  parallelism: number
  /**
   * Required to limit the memory of the memtables. Without this option, the binding does not derive their size from
   * `memtableMemoryBudget`.
   */
  compaction: 'level'
  /**
   * False means that ZSTD uses no dictionaries. With `compaction: 'level'`, the binding compresses all but the first
   * two levels in any case, and this option only decides whether it trains a dictionary for each file. Training takes
   * most of the CPU time of compactions if values cannot be compressed.
   */
  compression: false
  memtableMemoryBudget: number
  /** Size of the block cache in bytes. */
  cacheSize: number
  /** Charges index and filter blocks to the block cache. */
  cacheIndexAndFilterBlocks: boolean
  optimize: 'point-lookup'
  walCompression: boolean
}

export interface IteratorOptions {
  gte: Buffer
  lt: Buffer
  reverse: boolean
  limit: number
  /** A fetch returns no further row once its rows exceed this size. Default: no limit. */
  highWaterMarkBytes?: number
  /** The binding has no defaults for the encodings. */
  keyEncoding: 'buffer'
  valueEncoding: 'buffer'
}

/**
 * Loads the native binding.
 * @throws Error when the package has no binding for this platform
 */
export function loadRocksdbBinding(): RocksdbBinding {
  return createRequire(import.meta.url)('@nxtedition/rocksdb/binding.js')
}
