import type { Database, RocksdbBinding } from './rocksdb-binding.ts'

/**
 * RocksDB delays every write when five full memtables wait to be flushed (one less than the binding allows), or when
 * the first level has 20 files (RocksDB's default). A delayed write blocks the event loop.
 */
const STALLING_MEMTABLES = 5
const STALLING_FILES = 20
/** Share of RocksDB's limits at which writes that are not urgent are paused. */
const OVERLOADED_SHARE = 1 / 2

/**
 * Returns true if the database's flushes or compactions are far behind its writes. After a flush or compaction has
 * failed, for example on a full disk, the result is false: RocksDB then runs neither of them until the database is
 * opened again, so writers would wait forever. The next write reports the failure.
 */
export function isOverloaded(binding: Pick<RocksdbBinding, 'db_get_property'>, database: Database): boolean {
  return isBehind(binding, database, Math.ceil(STALLING_MEMTABLES * OVERLOADED_SHARE), STALLING_FILES * OVERLOADED_SHARE)
}

/**
 * Returns true if RocksDB would delay one of the next writes. After a failed flush or compaction, the result is false,
 * as for `isOverloaded`.
 */
export function nearsStall(binding: Pick<RocksdbBinding, 'db_get_property'>, database: Database): boolean {
  return isBehind(binding, database, STALLING_MEMTABLES - 1, STALLING_FILES - 1)
}

function isBehind(binding: Pick<RocksdbBinding, 'db_get_property'>, database: Database, memtables: number, files: number): boolean {
  const property = (name: string) => Number(binding.db_get_property(database, name)) || 0
  return (
    (property('rocksdb.num-immutable-mem-table') >= memtables || property('rocksdb.num-files-at-level0') >= files) &&
    property('rocksdb.background-errors') === 0
  )
}
