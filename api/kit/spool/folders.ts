import { basename, join } from 'node:path'
import { lockFile } from '../../../runtime/file-lock.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { SpoolFiles } from './files.ts'
import { isSegmentName, Segment } from './segment.ts'

/** Name of the lock file in each folder. The process that owns the folder holds the lock. */
const LOCK_FILE = 'lock'
/** Prefix of the names of folders that no process adopts: new folders, and the folder that contains damaged files. */
const HIDDEN_PREFIX = '.'
/** The folder that contains the copies of damaged files. */
const KEPT_FOLDER = `${HIDDEN_PREFIX}damaged`
/** Suffix of the name of an incomplete copy. */
const PARTIAL_SUFFIX = '.partial'
/** Number of digits in the number at the beginning of a folder's name. */
const NUMBER_DIGITS = 15
/**
 * Age at which a folder without its final name counts as abandoned. A process gives its folder the final name within
 * milliseconds, unless the process is suspended in between.
 */
const UNNAMED_KEPT_MS = 24 * 3_600_000
const NUMBERED = new RegExp(`^[${HIDDEN_PREFIX}]?(\\d{${NUMBER_DIGITS}})-`)

/** A folder that this process has locked. */
export interface Folder {
  readonly path: string
  release(): void
}

interface Adopted {
  readonly folder: Folder
  /** The files with records that must be sent, in order. */
  readonly segments: Segment[]
  /** For each record that must be sent, the index of the counter that counts its key. */
  readonly counters: readonly number[]
}

interface AdoptOptions {
  /** The parent folder, which contains one folder per process. */
  readonly folder: string
  readonly files: SpoolFiles
  readonly runtime: Runtime
}

/**
 * Returns whether a name has the form of the final name of a process's folder. Hidden names, such as those of new
 * folders, do not.
 */
export function isProcessFolder(name: string): boolean {
  return !name.startsWith(HIDDEN_PREFIX) && NUMBERED.test(name)
}

/**
 * Returns a name for a new folder. It sorts after the given names. The number in the name is the time in epoch ms. If
 * the clock was set back, the number is one more than the highest number in the given names.
 */
export function nameAfter(names: readonly string[], runtime: Runtime): string {
  const highest = names.reduce((found, name) => Math.max(found, Number(NUMBERED.exec(name)?.[1] ?? 0)), 0)
  return `${String(Math.max(runtime.now(), highest + 1)).padStart(NUMBER_DIGITS, '0')}-${runtime.id()}`
}

/** Creates and locks a folder under a name that no other process adopts, and then gives the folder its final name. */
export async function makeOwn(files: SpoolFiles, parent: string, name: string): Promise<Folder> {
  const unlocked = join(parent, `${HIDDEN_PREFIX}${name}`)
  const path = join(parent, name)
  await files.makeFolder(unlocked)
  const release = lockFile(join(unlocked, LOCK_FILE))
  if (release === undefined) throw new Error(`the folder ${unlocked} cannot be locked`)
  await files.rename(unlocked, path)
  await files.syncFolder(parent)
  return { path, release }
}

/**
 * Takes over the folder of a dead process, and keeps copies of its damaged files. Removes its files that contain
 * nothing to send, and the whole folder if there is nothing to send at all. Also removes a folder that has had no final
 * name for a day, unless it is locked or contains files other than its lock file. Returns undefined if the folder does
 * not exist, is locked by a process, does not have the name of a process's folder, or contains nothing to send.
 * @param counterOf returns the index of the counter that counts a record's key
 * @throws Error if a file cannot be read. In that case, nothing is lost, and a later call may succeed.
 */
export async function adopt(
  options: AdoptOptions,
  name: string,
  counterOf: (topic: string, key: Buffer) => number,
): Promise<Adopted | undefined> {
  if (name.startsWith(HIDDEN_PREFIX)) {
    await removeUnnamed(options, name)
    return undefined
  }
  if (!isProcessFolder(name)) return undefined
  const { files, runtime } = options
  const path = join(options.folder, name)
  const lock = await lockUnlessGone(files, path)
  if (lock === undefined) return undefined
  const { names, release } = lock
  const segments: Segment[] = []
  const counters: number[] = []
  try {
    for (const file of names.filter(isSegmentName).toSorted()) {
      const segment = await Segment.open(files, path, file)
      segments.push(segment)
      const torn = await segment.scan((topic, key) => void counters.push(counterOf(topic, key)))
      if (segment.isDamaged) await keepDamaged(options, segment, { bytes: segment.skipped + torn, records: segment.unsettled })
      else if (torn > 0) runtime.log.warn({ file: segment.path, bytes: torn }, 'spool_end_torn')
    }
    const unsent = segments.filter(({ unsettled }) => unsettled > 0)
    for (const segment of segments) if (segment.unsettled === 0) await segment.remove()
    if (unsent.length > 0) {
      runtime.log.info({ folder: path, records: counters.length }, 'spool_adopted')
      return { folder: { path, release }, segments: unsent, counters }
    }
    await files.remove(path)
    release()
    return undefined
  } catch (error) {
    await Promise.all(segments.map((segment) => segment.close()))
    release()
    throw error
  }
}

/**
 * Removes a folder that has had no final name for a day, is not locked, and contains nothing but its lock file. Its
 * process was killed before it gave the folder its final name.
 */
async function removeUnnamed({ files, folder, runtime }: AdoptOptions, name: string): Promise<void> {
  const madeAt = NUMBERED.exec(name)?.[1]
  if (madeAt === undefined || runtime.now() - Number(madeAt) < UNNAMED_KEPT_MS) return
  const path = join(folder, name)
  const lock = await lockUnlessGone(files, path)
  if (lock === undefined) return
  try {
    if (lock.names.every((file) => file === LOCK_FILE)) await files.remove(path)
  } finally {
    lock.release()
  }
}

/** Returns the number of damaged files that are kept. */
export async function keptFiles(files: SpoolFiles, parent: string): Promise<number> {
  const names = await files.list(join(parent, KEPT_FOLDER)).catch(() => [])
  return names.filter((name) => !name.endsWith(PARTIAL_SUFFIX)).length
}

/**
 * Locks a folder and lists its files. Returns undefined if another process has the lock, or if there is no such folder.
 */
async function lockUnlessGone(files: SpoolFiles, path: string) {
  let release: (() => void) | undefined
  try {
    release = lockFile(join(path, LOCK_FILE))
    return release && { release, names: await files.list(path) }
  } catch (error) {
    release?.()
    const gone = await files.list(path).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' || code === 'ENOTDIR',
    )
    if (gone) return undefined
    throw error
  }
}

/**
 * Copies a damaged file into the folder of damaged files. Only an operator deletes the copy.
 * @param damage fields that describe the damage in the log
 */
export async function keepDamaged({ files, folder, runtime }: AdoptOptions, segment: Segment, damage: object): Promise<void> {
  const kept = join(folder, KEPT_FOLDER)
  const path = join(kept, `${basename(segment.folder)}-${basename(segment.path)}`)
  await files.makeFolder(kept)
  await files.copy(segment.path, `${path}${PARTIAL_SUFFIX}`)
  await files.rename(`${path}${PARTIAL_SUFFIX}`, path)
  await files.syncFolder(kept)
  runtime.log.error({ file: segment.path, kept: path, ...damage }, 'spool_file_damaged')
}
