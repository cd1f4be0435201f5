import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'lock'

/**
 * Locks a folder for this process. Node has no file locks, so SQLite locks an empty database in the folder. The kernel
 * releases the lock when the process ends in any way. The lock also excludes processes of other containers that mount
 * the same volume.
 * @returns a function that releases the lock; undefined if another process has the lock or the folder has just vanished
 */
export function lockFolder(folder: string): (() => void) | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(folder, LOCK_FILE))
    // With a journal in memory, SQLite creates no second file, whose path would be wrong after the folder is renamed.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE')
  } catch {
    database?.close()
    return undefined
  }
  const held = database
  return () => held.close()
}
