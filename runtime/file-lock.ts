import { DatabaseSync } from 'node:sqlite'

/** SQLite's code for a database that another connection has locked; the higher bits of a code give details. */
const SQLITE_BUSY = 5
const CODE_MASK = 0xff

/**
 * Locks a file for this process, and creates the file if it does not exist. Node has no file locks, so the file is an
 * empty SQLite database, and SQLite locks it. The kernel releases the lock when the process ends, however it ends. The
 * lock also excludes processes in other containers that mount the same volume.
 * @param waitMs how long to wait for another process that has the lock; the event loop is blocked meanwhile
 * @returns a function that releases the lock; undefined if another process has the lock
 * @throws Error if the file cannot be used, for example because its folder does not exist
 */
export function lockFile(path: string, waitMs = 0): (() => void) | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: waitMs })
    // The journal is in memory, because the path of a journal file would be wrong after the folder is renamed.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if ((((error as { errcode?: number }).errcode ?? 0) & CODE_MASK) === SQLITE_BUSY) return undefined
    throw error
  }
  const held = database
  return () => held.close()
}
