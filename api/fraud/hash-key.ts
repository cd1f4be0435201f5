import { join } from 'node:path'
import { keptSecret } from '../../runtime/kept-secret.ts'
import { type PersonalHashes, personalHashes } from '../../schemas/fraud/personal-hash.ts'
import type { Surroundings } from '../../settings/fragment.ts'
import type { FraudSettings } from './settings.ts'

/**
 * Creates the functions that hash e-mail addresses and phone numbers with a key. API instances with the same key
 * compute the same hashes. If no key is configured, creates a key and keeps it in a file.
 */
export function openPersonalHashes({ hashKey }: Pick<FraudSettings, 'hashKey'>, { home }: Pick<Surroundings, 'home'>): PersonalHashes {
  return personalHashes(hashKey ?? keptSecret(join(home, 'auth', 'fraud-hash-key')))
}
