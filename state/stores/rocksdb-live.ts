import { StateUnavailable } from './errors.ts'
import type { Batch, Database, IteratorOptions, RocksdbBinding, RowIterator } from './rocksdb-binding.ts'

type Range = { readonly gte: Buffer; readonly lt: Buffer }

/**
 * The database that is in use. While the database is being copied, all changes are recorded, so that the copy can be
 * brought up to date and then take its place.
 */
export interface LiveDatabase {
  readonly current: Database
  /**
   * Writes a batch.
   * @returns whether the batch may be reused; false if it is kept for the copy
   */
  write(batch: Batch): boolean
  deleteRange(range: Range): void
  /** Opens an iterator on the current database. The database must not be closed before the iterator. */
  iterate(options: IteratorOptions): OpenIterator
  /** Resolves once all iterators on a replaced database are closed. */
  iteratorsClosed(database: Database): Promise<void>
  /** Starts to record changes for a copy. */
  follow(): Follower
}

export interface OpenIterator {
  readonly iterator: RowIterator
  close(): void
}

/** The changes since a copy of the database was started. */
export interface Follower {
  /** True if there are too many changes to record, so that the copy must be abandoned. */
  readonly isOverrun: boolean
  /** Number of changes that have not been applied to the copy. */
  readonly changes: number
  /** Applies the oldest recorded change to the copy. All rows must have been copied before. */
  applyNext(copy: Database): void
  /** Applies all remaining changes to the copy, and replaces the database with it. */
  replace(copy: Database): void
  stop(): void
}

/** Maximum number of rows in the recorded changes. It limits their memory. */
const MAX_KEPT_ROWS = 500_000

export function liveDatabase(binding: RocksdbBinding, first: Database, writeOptions: { readonly sync: boolean } | undefined): LiveDatabase {
  let current = first
  /** The databases of the open iterators, one element per iterator. */
  const iterated: Database[] = []
  const closedListeners = new Map<Database, () => void>()
  let kept: (Batch | Range)[] | undefined
  let rows = 0

  function keep(change: Batch | Range, count: number): boolean {
    if (kept === undefined) return false
    rows += count
    if (rows > MAX_KEPT_ROWS) kept = undefined
    return kept !== undefined && kept.push(change) > 0
  }

  function apply(copy: Database, change: Batch | Range): void {
    if ('gte' in change) binding.db_clear(copy, change)
    else binding.batch_write(copy, change, undefined)
  }

  const rowsOf = (change: Batch | Range) => ('gte' in change ? 1 : binding.batch_count(change))

  return {
    get current() {
      return current
    },
    write(batch) {
      binding.batch_write(current, batch, writeOptions)
      return !keep(batch, binding.batch_count(batch))
    },
    deleteRange(range) {
      binding.db_clear(current, range)
      keep(range, 1)
    },
    iterate(options) {
      const database = current
      const iterator = binding.iterator_init(database, options)
      iterated.push(database)
      return {
        iterator,
        close() {
          iterated.splice(iterated.indexOf(database), 1)
          binding.iterator_close(iterator)
          if (!iterated.includes(database)) closedListeners.get(database)?.()
        },
      }
    },
    async iteratorsClosed(database) {
      if (iterated.includes(database)) await new Promise<void>((resolve) => closedListeners.set(database, resolve))
      closedListeners.delete(database)
    },
    follow() {
      const own: (Batch | Range)[] = []
      kept = own
      rows = 0
      return {
        get isOverrun() {
          return kept !== own
        },
        get changes() {
          return own.length
        },
        applyNext(copy) {
          const change = own.shift()
          if (change === undefined) return
          apply(copy, change)
          rows -= rowsOf(change)
        },
        replace(copy) {
          if (kept !== own) throw new StateUnavailable('replacing the state with its copy', new Error('the copy is out of date'))
          for (const change of own) apply(copy, change)
          kept = undefined
          current = copy
        },
        stop() {
          if (kept === own) kept = undefined
        },
      }
    },
  }
}
