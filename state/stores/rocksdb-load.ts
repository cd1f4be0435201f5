import type { Database, RocksdbBinding } from './rocksdb-binding.ts'

/**
 * Writes that are not urgent are paused when this many memtables are waiting to be flushed. RocksDB delays all writes,
 * including those of running tasks, when six memtables or 20 files of the first level are waiting. The limits here are
 * half of these numbers.
 */
const MOST_WAITING_MEMTABLES = 3
const MOST_FILES_IN_FIRST_LEVEL = 10

/**
 * Returns true if the database's flushes and compactions are behind its writes. After a flush or compaction has failed,
 * for example on a full disk, the result is false: RocksDB then runs neither of them until the database is opened
 * again, so writers would wait forever. The next write reports the failure.
 */
export function isOverloaded(binding: Pick<RocksdbBinding, 'db_get_property'>, database: Database): boolean {
  const property = (name: string) => Number(binding.db_get_property(database, name)) || 0
  const isBehind =
    property('rocksdb.num-immutable-mem-table') >= MOST_WAITING_MEMTABLES ||
    property('rocksdb.num-files-at-level0') >= MOST_FILES_IN_FIRST_LEVEL
  return isBehind && property('rocksdb.background-errors') === 0
}
