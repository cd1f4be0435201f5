import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from '../../runtime/file-lock.ts'
import { findChildren, type ProcessMark, processMark } from './child.ts'

/** The data folder of one local stack. */
export interface Home {
  readonly path: string
  /** Downloaded programs, which a reset keeps. */
  readonly tools: string
  /** One folder per server, and folders of the APIs and workers, such as the spool. */
  readonly data: string
  /** One folder per worker slot. The folders of workers that decide commands are in `deciding`. */
  readonly state: string
  readonly logs: string
  /** Folder of files about running processes: pid files, and the list that `npm run status` reads. */
  readonly run: string
}

/** An error with a message for the user: cause and remedy in one line. */
export class HomeError extends Error {
  override readonly name = 'HomeError'
}

/** Name of the file that marks a data folder of Millrace. A reset deletes nothing in a folder without this file. */
const MARKER = 'millrace-home'
const LOCK = 'lock'
/**
 * Name of a file in the folder `run`. A process holds a file lock on this file while it takes the lock of the data
 * folder.
 */
const GUARD = 'lock-guard'
/** How long to wait while another process is taking the lock. Taking it needs only a few milliseconds. */
const GUARD_WAIT_MS = 5_000
/** Names of entries that Millrace creates in the folder. */
const OWN_ENTRIES = new Set([MARKER, LOCK, 'tools', 'data', 'state', 'logs', 'run', 'auth', 'compile-cache', 'chaos'])
/** Matches drafts of locks that killed processes have left. */
const LOCK_DRAFT = /^lock\.\d+$/
/** Minimum free disk space. Kafka accepts writes until the disk is completely full, and then stops permanently. */
const LEAST_FREE_BYTES = 500e6

function layout(path: string): Home {
  return {
    path,
    tools: join(path, 'tools'),
    data: join(path, 'data'),
    state: join(path, 'state'),
    logs: join(path, 'logs'),
    run: join(path, 'run'),
  }
}

/** Mode of the folder. The folder contains keys, passwords and the data of all users, so only its owner may open it. */
const PRIVATE_MODE = 0o700

/**
 * Checks that the folder is a data folder of Millrace or may become one. `openHome` makes the folder inaccessible to
 * other users. In a shared folder such as /tmp, this would break other programs.
 * @throws HomeError when the folder contains other files and has no marker
 */
export function assertNotForeign(path: string): void {
  if (findHome(path) !== undefined || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return
  const [stranger] = strangersIn(path)
  if (stranger === undefined) return
  throw new HomeError(`${path} is not a data folder of Millrace, because it contains ${stranger}: choose a new folder with MILLRACE_HOME`)
}

/** Creates the folder if it does not exist, makes it inaccessible to other users, and checks the free disk space. */
export function openHome(path: string): Home {
  const home = layout(path)
  try {
    for (const folder of [home.path, home.tools, home.data, home.state, home.logs, home.run]) mkdirSync(folder, { recursive: true })
    closeToOthers(path)
    writeFileSync(join(path, MARKER), 'The local data of Millrace. Safe to delete while Millrace is not running.\n')
  } catch (error) {
    throw new HomeError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}): choose another folder with MILLRACE_HOME`)
  }
  const { bavail, bsize } = statfsSync(path)
  if (bavail * bsize < LEAST_FREE_BYTES) {
    throw new HomeError(
      `the disk is nearly full: ${Math.round((bavail * bsize) / 1e6)} MB are free for ${path}, but ${LEAST_FREE_BYTES / 1e6} MB are needed. Free some space, or choose another folder with MILLRACE_HOME`,
    )
  }
  return home
}

/**
 * Makes a folder inaccessible to other users. Does not change a folder that belongs to another user, because only the
 * owner can change the mode.
 */
function closeToOthers(path: string): void {
  try {
    chmodSync(path, PRIVATE_MODE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** Returns the layout of an existing data folder; undefined when there is no data folder at this path. */
export function findHome(path: string): Home | undefined {
  return existsSync(join(path, MARKER)) ? layout(path) : undefined
}

/** Returns the entries of the folder that Millrace does not create. */
function strangersIn(path: string): string[] {
  return readdirSync(path).filter((entry) => !OWN_ENTRIES.has(entry) && !LOCK_DRAFT.test(entry))
}

/**
 * Stops the processes that a killed start has left, and deletes data, state, logs and pid files. Keeps tools and keys.
 * @param guardWaitMs how long to wait for another process that is taking the lock
 * @throws HomeError when the folder is in use, is not a data folder of Millrace, or also contains other files
 */
export async function resetHome(path: string, guardWaitMs = GUARD_WAIT_MS): Promise<void> {
  if (!existsSync(path)) return
  const strangers = strangersIn(path)
  if (!existsSync(join(path, MARKER)) || strangers.length > 0) {
    const reason = strangers.length > 0 ? `it contains ${strangers[0]}` : `it has no file ${MARKER}`
    throw new HomeError(
      `--reset deletes only data folders of Millrace, and ${path} does not look like one (${reason}). Delete the folder by hand if you are sure`,
    )
  }
  const home = layout(path)
  mkdirSync(home.run, { recursive: true })
  // The guard prevents another start from taking the lock until everything is deleted. A reset does not take the lock
  // itself, because the lock cannot be written while the disk is full, and a reset must still be able to free space.
  const release = guard(home, guardWaitMs)
  try {
    const holder = lockHolder(home)
    if (holder !== undefined) throw new HomeError(`${path} is in use by a running \`npm start\` (pid ${holder}): stop it before --reset`)
    await Promise.all(findChildren(home.run).map((child) => child.kill()))
    for (const folder of [home.data, home.state, home.logs]) rmSync(folder, { recursive: true, force: true })
    for (const entry of readdirSync(home.run)) if (entry !== GUARD) rmSync(join(home.run, entry), { recursive: true, force: true })
  } finally {
    release()
  }
}

/**
 * Locks the folder for this process.
 * @param guardWaitMs how long to wait for another process that is taking the lock
 * @returns a function that releases the lock
 * @throws HomeError when another running process holds the lock, or the lock cannot be taken
 */
export function lockHome(home: Home, guardWaitMs = GUARD_WAIT_MS): () => void {
  const release = guard(home, guardWaitMs)
  try {
    return takeLock(home)
  } finally {
    release()
  }
}

/**
 * Lets only one process at a time take the lock. Without this guard, a process could remove the lock of another one
 * that has just replaced the same stale lock.
 */
function guard(home: Home, waitMs: number): () => void {
  let reason = 'another process is locking it'
  try {
    const release = lockFile(join(home.run, GUARD), waitMs)
    if (release !== undefined) return release
  } catch (error) {
    reason = (error as Error).message
  }
  throw new HomeError(`${home.path} cannot be locked (${reason}): choose another folder with MILLRACE_HOME`)
}

function takeLock(home: Home): () => void {
  const lock = join(home.path, LOCK)
  // The guard lets only one process at a time reach this point, so all drafts come from killed processes.
  for (const entry of readdirSync(home.path)) if (LOCK_DRAFT.test(entry)) rmSync(join(home.path, entry), { force: true })
  const mine = join(home.path, `${LOCK}.${process.pid}`)
  writeFileSync(mine, JSON.stringify(processMark(process.pid)))
  try {
    for (;;) {
      try {
        // Linking is atomic, so other processes never read an incomplete lock.
        linkSync(mine, lock)
        return () => rmSync(lock, { force: true })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const holder = lockHolder(home)
        if (holder !== undefined) {
          throw new HomeError(
            `${home.path} is in use by a running \`npm start\` (pid ${holder}). Stop it, or choose a different folder with MILLRACE_HOME`,
          )
        }
        rmSync(lock, { force: true })
      }
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Returns the pid of the running process that holds the lock, if any. */
export function lockHolder(home: Home): number | undefined {
  try {
    const mark = JSON.parse(readFileSync(join(home.path, LOCK), 'utf8')) as ProcessMark
    return processMark(mark.pid)?.startedAtTicks === mark.startedAtTicks ? mark.pid : undefined
  } catch {
    return undefined
  }
}
