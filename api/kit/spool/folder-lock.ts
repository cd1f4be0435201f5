import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'lock'
/** SQLite's code for a database that another connection has locked; the higher bits of a code give details. */
const SQLITE_BUSY = 5
const CODE_MASK = 0xff

/**
 * Locks a folder for this process. Node has no file locks, so SQLite locks an empty database in the folder. The kernel
 * releases the lock when the process ends, however it ends. The lock also excludes processes of other containers that
 * mount the same volume.
 * @returns a function that releases the lock; undefined if another process has the lock
 * @throws Error if the folder does not exist or the lock file cannot be used
 */
export function lockFolder(folder: string): (() => void) | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(folder, LOCK_FILE))
    // With a journal in memory, SQLite creates no second file, whose path would be wrong after the folder is renamed.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if ((((error as { errcode?: number }).errcode ?? 0) & CODE_MASK) === SQLITE_BUSY) return undefined
    throw error
  }
  const held = database
  return () => held.close()
}
