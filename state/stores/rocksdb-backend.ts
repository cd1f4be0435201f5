import { mkdirSync, rmSync } from 'node:fs'
import { StateCorrupted, StateLocked, StateUnavailable } from './errors.ts'
import { type Directory, directoryRange, FORMAT_VERSION, formatEntry, readDirectory } from './key-spaces.ts'
import { type Database, loadRocksdbBinding, type RocksdbBinding } from './rocksdb-binding.ts'
import { scratch } from './rocksdb-column.ts'
import { catchUp, copyRows } from './rocksdb-copy.ts'
import { currentGeneration, databaseFolder, nextGeneration, removeOtherGenerations, setGeneration } from './rocksdb-folders.ts'
import { type LiveDatabase, liveDatabase } from './rocksdb-live.ts'
import { deleteRows, rocksdbSession, type SharedDatabase } from './rocksdb-session.ts'
import { sessionsOf } from './sessions.ts'
import type { StateBackend } from './store.ts'

export interface RocksdbOptions {
  /** Folder of the database. It belongs to one worker process, and is created if it does not exist. */
  readonly folder: string
  /** Memory of the whole database in bytes, regardless of the number of stores and partitions. Default 256 MiB. */
  readonly memoryBudgetBytes?: number
  /** Threads for flushes and compactions. Default 2, one for each. */
  readonly backgroundThreads?: number
  /**
   * Whether every write waits for the disk. Default false. State and positions stay consistent without waiting, because
   * they are written in one atomic batch. Writes that are lost in a power failure are restored from the changelog.
   */
  readonly sync?: boolean
}

export const DEFAULT_MEMORY_BUDGET_BYTES = 256 * 1024 * 1024
const DEFAULT_BACKGROUND_THREADS = 2
/**
 * Share of the memory budget that is configured for memtables. The binding lets them grow to 1.5 times this size (six
 * buffers of a quarter each), so they take up to 3/8 of the budget. The block cache, including index and filter blocks,
 * gets another 3/8. The remaining 2/8 are for running compactions (docs/adr/0002).
 */
const MEMTABLE_SHARE = 1 / 4
const CACHE_SHARE = 3 / 8
/** The binding gives each memtable this share of the memory that is configured for memtables. */
const ONE_MEMTABLE = 1 / 4
/**
 * Lower bound of `batchBytes`, the batch size at which a worker commits early. With smaller batches, many small
 * transactions would keep the brokers busy.
 */
const LEAST_BATCH_BYTES = 8 * 1024 * 1024
/** RocksDB's errors for a missing file. The second one is for `CURRENT`, without which there is no database. */
const MISSING_FILE = /IO error: No such file or directory|does not exist \(create_if_missing is false\)/
const SYNC_WRITE = { sync: true }
/**
 * Maximum number of directory rows to read. The directory has only a few rows per store and partition, so one call
 * reads all of them.
 */
const ALL_ROWS = 2 ** 31 - 1

/**
 * Opens the worker's database.
 *
 * Durability: a write reaches the operating system before `write` returns, so a killed process loses nothing. A power
 * failure may lose the latest batches, but never a part of a batch, so state and positions always match.
 * @throws StateLocked, StateCorrupted (wipe the folder and restore) or StateUnavailable
 */
export async function openRocksdbBackend(options: RocksdbOptions): Promise<StateBackend> {
  const { folder } = options
  const binding = loadRocksdbBinding()
  const { database, generation } = await openCurrent(binding, options)
  try {
    removeOtherGenerations(folder, generation)
    const live = liveDatabase(binding, database, options.sync ? SYNC_WRITE : undefined)
    const directory = readOrCreateDirectory(binding, live, folder)
    return rocksdbBackend(binding, live, directory, options)
  } catch (error) {
    await closeDatabase(binding, database)
    throw error
  }
}

function rocksdbBackend(binding: RocksdbBinding, live: LiveDatabase, directory: Directory, options: RocksdbOptions): StateBackend {
  const { folder } = options
  let generation = currentGeneration(folder)
  /** True at first, because an earlier process may have ended before it completed a requested scrub. */
  let mustScrub = true
  let isClosing = false
  const closing = Promise.withResolvers<void>()
  let scrubbing: Promise<boolean> | undefined
  const shared: SharedDatabase = {
    // Usually the size of one memtable. RocksDB puts a whole batch into a single memtable, so a larger batch would make
    // the memtable exceed its share of the memory budget.
    batchBytes: Math.max(LEAST_BATCH_BYTES, (options.memoryBudgetBytes ?? DEFAULT_MEMORY_BUDGET_BYTES) * MEMTABLE_SHARE * ONE_MEMTABLE),
    binding,
    live,
    directory,
    columnSpaces: new Map(),
    spareBatches: [],
    keys: scratch(),
    values: scratch(),
    scrub() {
      mustScrub = true
    },
    failed: (doing, error) => stateError(`${doing} in ${folder}`, error),
  }

  /**
   * Restored records may replace values that must be erased, and it is unknown which records do so. Therefore every
   * write of a copy session requests a scrub.
   */
  const copying: SharedDatabase = {
    ...shared,
    live: {
      get current() {
        return live.current
      },
      write(batch) {
        mustScrub = true
        return live.write(batch)
      },
      deleteRange: live.deleteRange,
      iterate: live.iterate,
      iteratorsClosed: live.iteratorsClosed,
      follow: live.follow,
    },
  }

  /**
   * Rewrites the database by copying it and continuing with the copy, because the binding has no function for
   * compaction.
   */
  async function rewrite(): Promise<boolean> {
    const next = nextGeneration(generation)
    const old = live.current
    // The copy of an earlier attempt may still exist. It would bring back rows that have been deleted since.
    rmSync(databaseFolder(folder, next), { recursive: true, force: true })
    const copy = await openDatabase(binding, options, databaseFolder(folder, next), true)
    const follower = live.follow()
    try {
      mustScrub = false
      const mayGoOn = () => !isClosing && !follower.isOverrun
      const isComplete = (await copyRows(binding, old, copy, mayGoOn)) && (await catchUp(binding, follower, copy, mayGoOn))
      if (!isComplete || !mayGoOn()) throw new Error('the database is being closed, or too many rows changed during the copy')
      // From here on, this block is synchronous, so no write can come between the last changes and the switch to the
      // copy.
      while (follower.changes > 0) follower.applyNext(copy)
      const last = binding.batch_init()
      binding.batch_put(last, ...formatEntry(), undefined)
      binding.batch_write(copy, last, SYNC_WRITE)
      // The pointer file is written before the copy is used. If this fails, the old database stays in use and locked.
      // Without its lock, another process could open the old database and delete the copy.
      setGeneration(folder, next)
      follower.replace(copy)
      generation = next
    } catch (error) {
      mustScrub = true
      follower.stop()
      // If the disk is full, closing fails as well. The copy must be removed nevertheless.
      await closeDatabase(binding, copy).catch(() => undefined)
      rmSync(databaseFolder(folder, next), { recursive: true, force: true })
      throw stateError(`rewriting the state in ${folder}`, error)
    }
    // The native code aborts the process if an iterator is used after its database was closed, so the iterators must be
    // closed first. A time handler that visits all rows in small steps may keep an iterator open for seconds.
    await Promise.race([live.iteratorsClosed(old), closing.promise])
    await closeDatabase(binding, old)
    removeOtherGenerations(folder, next)
    return true
  }

  async function scrub(): Promise<boolean> {
    if (!mustScrub || isClosing) return false
    scrubbing ??= rewrite().finally(() => {
      scrubbing = undefined
    })
    return await scrubbing
  }

  return {
    ...sessionsOf((topology) => rocksdbSession(shared, topology)),
    copySession: sessionsOf((topology) => rocksdbSession(copying, topology)).copySession,
    scrub,

    stats() {
      const property = (name: string) => Number(binding.db_get_property(live.current, name)) || 0
      return {
        diskBytes: property('rocksdb.total-sst-files-size') + property('rocksdb.cur-size-all-mem-tables'),
        memoryBytes:
          property('rocksdb.size-all-mem-tables') + property('rocksdb.block-cache-usage') + property('rocksdb.estimate-table-readers-mem'),
      }
    },

    async close() {
      isClosing = true
      closing.resolve()
      await scrubbing?.catch(() => undefined)
      await closeDatabase(binding, live.current)
    },
  }
}

/**
 * Opens the current generation. Another process may complete a rewrite at the same time. That process then unlocks and
 * deletes the generation that was current before, so the old generation must be neither used nor counted as damaged.
 */
async function openCurrent(
  binding: RocksdbBinding,
  options: RocksdbOptions,
): Promise<{ readonly database: Database; readonly generation: string | undefined }> {
  const { folder } = options
  for (;;) {
    const generation = currentGeneration(folder)
    const isCurrent = () => currentGeneration(folder) === generation
    try {
      const database = await openDatabase(binding, options, databaseFolder(folder, generation), generation === undefined)
      if (isCurrent()) return { database, generation }
      await closeDatabase(binding, database)
    } catch (error) {
      if (isCurrent()) throw error
    }
  }
}

async function openDatabase(binding: RocksdbBinding, options: RocksdbOptions, folder: string, createIfMissing: boolean): Promise<Database> {
  const { memoryBudgetBytes = DEFAULT_MEMORY_BUDGET_BYTES, backgroundThreads = DEFAULT_BACKGROUND_THREADS } = options
  try {
    mkdirSync(folder, { recursive: true })
    const database = binding.db_init(folder)
    await new Promise<void>((resolve, reject) => {
      binding.db_open(
        database,
        {
          createIfMissing,
          parallelism: backgroundThreads,
          compaction: 'level',
          compression: false,
          memtableMemoryBudget: Math.floor(memoryBudgetBytes * MEMTABLE_SHARE),
          cacheSize: Math.floor(memoryBudgetBytes * CACHE_SHARE),
          cacheIndexAndFilterBlocks: true,
          optimize: 'point-lookup',
          walCompression: false,
        },
        (error) => (error ? reject(error) : resolve()),
      )
    })
    return database
  } catch (error) {
    if (errorCode(error) === 'LEVEL_LOCKED') throw new StateLocked(folder, error)
    // The folder exists, so the missing file is one that RocksDB expects in it.
    if (MISSING_FILE.test(String(error))) throw new StateCorrupted(`a file is missing from the state in ${folder}`, error)
    throw stateError(`opening the state in ${folder}`, error)
  }
}

function closeDatabase(binding: RocksdbBinding, database: Database): Promise<void> {
  return new Promise((resolve, reject) => binding.db_close(database, (error) => (error ? reject(error) : resolve())))
}

function readOrCreateDirectory(binding: RocksdbBinding, live: LiveDatabase, folder: string): Directory {
  try {
    const rows = readAll(binding, live.current)
    const directory = readDirectory(rows)
    if (rows.length === 0) {
      const own = binding.batch_init()
      binding.batch_put(own, ...formatEntry(), undefined)
      binding.batch_write(live.current, own, undefined)
    } else if (directory.format !== FORMAT_VERSION) {
      const format = directory.format === undefined ? 'no format' : `format ${directory.format}`
      throw new StateCorrupted(`the state in ${folder} has ${format}, but this version reads format ${FORMAT_VERSION}`)
    }
    for (const space of directory.deleted.splice(0)) deleteRows(binding, live, space)
    return directory
  } catch (error) {
    throw stateError(`reading the list of stores in the state in ${folder}`, error)
  }
}

function readAll(binding: RocksdbBinding, database: Database): Buffer[] {
  const iterator = binding.iterator_init(database, {
    ...directoryRange(),
    reverse: false,
    limit: -1,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  })
  try {
    return binding.iterator_nextv_sync(iterator, ALL_ROWS).rows
  } finally {
    binding.iterator_close(iterator)
  }
}

function stateError(doing: string, error: unknown): Error {
  if (error instanceof StateCorrupted) return error
  return errorCode(error) === 'LEVEL_CORRUPTION'
    ? new StateCorrupted(`corruption found while ${doing}`, error)
    : new StateUnavailable(doing, error)
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
