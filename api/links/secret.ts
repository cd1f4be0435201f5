import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createOnce } from '../../runtime/create-once.ts'

const SECRET_BYTES = 32

/**
 * Returns the secret from which short codes derive. It is created on first use in development, and all API instances
 * share it.
 * @param home the folder for all local data
 */
export function developmentSecret(home: string): string {
  return createOnce(join(home, 'auth', 'links-secret'), () => randomBytes(SECRET_BYTES).toString('base64url'))
}
