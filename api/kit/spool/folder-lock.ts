import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'lock'

/**
 * Locks a folder for this process. Node has no file locks, so SQLite takes one on an empty database. The kernel
 * releases it when the process ends in any way, and it also excludes processes of other containers that mount the
 * same volume.
 * @returns a function that releases the lock; undefined if another process holds it or the folder has just vanished
 */
export function lockFolder(folder: string): (() => void) | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(folder, LOCK_FILE))
    // With a journal in memory there is no second file, whose path would be wrong after the folder is renamed.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE')
  } catch {
    database?.close()
    return undefined
  }
  const held = database
  return () => held.close()
}
