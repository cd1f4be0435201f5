import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECRET_BYTES = 32
/** File mode that lets only the owner read the secret. */
const PRIVATE_MODE = 0o600

/**
 * Reads the secret that the workers of one machine share, or creates it on first use. If several processes start at
 * once, all use the one that was written first.
 * @param folder holds the states of all workers
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
    // Linking to an existing name fails, so exactly one writer succeeds, and no reader sees a partial file.
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}
