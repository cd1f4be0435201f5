import { randomBytes } from 'node:crypto'
import { createOnce } from './create-once.ts'

const SECRET_BYTES = 32

/**
 * Reads a secret of 256 random bits from a file, or creates it on first use. Processes that start at the same time get
 * the same secret.
 */
export function keptSecret(path: string): string {
  return createOnce(path, () => randomBytes(SECRET_BYTES).toString('base64url'))
}
