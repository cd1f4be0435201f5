import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECRET_BYTES = 32
/** Readable by its owner alone. */
const PRIVATE_MODE = 0o600

/**
 * The secret that the workers of one machine share: made on first use. Several processes may start at once: the first one's wins for all.
 * @param folder of the states of all workers
 */
export function keptVisitorSecret(folder: string): string {
  const path = join(folder, 'visitor-secret')
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  mkdirSync(folder, { recursive: true })
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  writeFileSync(draft, secret, { mode: PRIVATE_MODE })
  try {
    // A hard link to an existing name fails: exactly one of several writers succeeds, and nobody reads half a file.
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}
