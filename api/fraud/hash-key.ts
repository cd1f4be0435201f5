import { join } from 'node:path'
import { keptSecret } from '../../runtime/kept-secret.ts'
import { type PersonalHashes, personalHashes } from '../../schemas/fraud/personal-hash.ts'
import type { Surroundings } from '../../settings/fragment.ts'
import type { FraudSettings } from './settings.ts'

/** Creates the keyed hashes of e-mail addresses and phone numbers, which are the same in all API instances. */
export function openPersonalHashes({ hashKey }: Pick<FraudSettings, 'hashKey'>, { home }: Pick<Surroundings, 'home'>): PersonalHashes {
  return personalHashes(hashKey ?? keptSecret(join(home, 'auth', 'fraud-hash-key')))
}
