import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createOnce } from '../../../runtime/create-once.ts'

const SECRET_BYTES = 32

/**
 * Reads the secret that the workers of one machine share, or creates it on first use. If several processes start at
 * once, all use the one that was written first.
 * @param folder holds the states of all workers
 */
export function keptVisitorSecret(folder: string): string {
  return createOnce(join(folder, 'visitor-secret'), () => randomBytes(SECRET_BYTES).toString('base64url'))
}
