import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** File mode that lets only the owner read the secret. */
const PRIVATE_MODE = 0o600
/** File mode that lets only the owner list the secret's folder. */
const PRIVATE_FOLDER_MODE = 0o700

/**
 * Reads a secret from a file, or creates it on first use. Several processes may start at once. Each process writes its
 * own file and links it to the path. Linking to an existing name fails, so exactly one of several writers succeeds, and
 * no reader sees a partial file.
 * @throws Error if the file is empty or contains only white space, because anyone could guess such a secret
 */
export function createOnce(path: string, make: () => string): string {
  try {
    return existing(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE })
  const draft = `${path}.${randomUUID()}`
  try {
    // The content is on disk before the name exists, so a loss of power leaves no empty secret.
    writeFileSync(draft, make(), { mode: PRIVATE_MODE, flush: true })
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return existing(path)
}

function existing(path: string): string {
  const secret = readFileSync(path, 'utf8')
  if (secret.trim() === '') throw new Error(`${path} contains no secret: restore it from a backup, or delete it to create a new secret`)
  return secret
}
