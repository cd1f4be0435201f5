import { join } from 'node:path'
import { keptSecret } from '../../../runtime/kept-secret.ts'

/**
 * Reads the secret that the workers of one machine share, or creates it on first use. If several processes start at
 * once, all use the secret that was written first.
 * @param folder contains the state of all workers of the machine
 */
export function keptVisitorSecret(folder: string): string {
  return keptSecret(join(folder, 'visitor-secret'))
}
