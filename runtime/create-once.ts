import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** File mode that lets only the owner read the secret. */
const PRIVATE_MODE = 0o600
/** File mode of the secret's folder, which only the owner may list. */
const PRIVATE_FOLDER_MODE = 0o700

/**
 * Reads a secret from a file, or creates it on first use. Several processes may start at once. Each process writes its
 * own file and links it to the path. Linking to an existing name fails, so exactly one of several writers succeeds, and
 * no reader sees a partial file.
 */
export function createOnce(path: string, make: () => string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE })
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, make(), { mode: PRIVATE_MODE })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}
