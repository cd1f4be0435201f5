import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StateCorrupted } from './errors.ts'

/**
 * Name of the file that contains the name of a rewritten database's subfolder. Before the first rewrite, the database
 * is directly in the folder of the worker's state.
 */
const POINTER = 'generation'
const GENERATION = /^generation-(\d+)$/
/** The files that RocksDB creates. Other files in the folder do not belong to the database. */
const DATABASE_FILE = /^(?:\d+\.(?:sst|log|blob|dbtmp)|MANIFEST-\d+|OPTIONS-\d+(?:\.dbtmp)?|CURRENT|IDENTITY|LOCK|LOG(?:\.old\.\d+)?)$/

/**
 * Returns the subfolder that contains the current database; undefined when the database was never rewritten.
 * @throws StateCorrupted when the pointer file does not name a subfolder
 */
export function currentGeneration(folder: string): string | undefined {
  const path = join(folder, POINTER)
  let generation: string
  try {
    generation = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  if (!GENERATION.test(generation)) throw new StateCorrupted(`the file ${path} does not name a database`)
  return generation
}

export function databaseFolder(folder: string, generation: string | undefined): string {
  return generation === undefined ? folder : join(folder, generation)
}

export function nextGeneration(generation: string | undefined): string {
  return `generation-${Number(GENERATION.exec(generation ?? '')?.[1] ?? 0) + 1}`
}

/**
 * Makes this generation the current one. The change is atomic, even in a power failure. If this function throws, the
 * previous generation is still the current one.
 */
export function setGeneration(folder: string, generation: string): void {
  const draft = join(folder, `${POINTER}.draft`)
  writeFileSync(draft, `${generation}\n`, { flush: true })
  const directory = openSync(folder, 'r')
  try {
    renameSync(draft, join(folder, POINTER))
    fsyncSync(directory)
  } catch (error) {
    // If only the flush failed, every process already reads the new generation from the pointer file. A power failure
    // may still undo the change, and the state is then restored from its changelogs.
    if (currentGeneration(folder) !== generation) throw error
  } finally {
    closeSync(directory)
  }
}

/** Removes the files of all other generations. The caller must hold the lock of the current one. */
export function removeOtherGenerations(folder: string, current: string | undefined): void {
  for (const name of readdirSync(folder)) {
    const isOther = GENERATION.test(name) ? name !== current : current !== undefined && DATABASE_FILE.test(name)
    if (isOther) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/** Deletes all generations of the database, and the pointer file. */
export function deleteDatabase(folder: string): void {
  rmSync(join(folder, POINTER), { force: true })
  for (const name of readdirSync(folder)) {
    if (GENERATION.test(name) || DATABASE_FILE.test(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}
