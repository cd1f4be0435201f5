import { join } from 'node:path'
import { keptSecret } from '../../../runtime/kept-secret.ts'

/**
 * Reads the secret that the workers of one machine share, or creates it on first use. If several processes start at
 * once, all use the one that was written first.
 * @param folder holds the states of all workers
 */
export function keptVisitorSecret(folder: string): string {
  return keptSecret(join(folder, 'visitor-secret'))
}
