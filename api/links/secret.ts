import { join } from 'node:path'
import { keptSecret } from '../../runtime/kept-secret.ts'

/**
 * Returns the secret from which short codes are derived in development. The secret is created on first use. All API
 * instances with the same `home` share it.
 * @param home the folder for all local data
 */
export function developmentSecret(home: string): string {
  return keptSecret(join(home, 'auth', 'links-secret'))
}
