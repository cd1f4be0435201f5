import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented } from '../../settings/variables.ts'

/** Minimum length of the key, which is 128 bits as text. */
const MIN_HASH_KEY_CHARACTERS = 22

export const fraudSettings = settingsFragment({
  variables: {
    FRAUD_HASH_KEY: documented(
      z.string().min(MIN_HASH_KEY_CHARACTERS, `is too short; use at least ${MIN_HASH_KEY_CHARACTERS} random characters`).optional(),
      'key for hashing e-mail addresses and phone numbers of payers; production requires one, the same for all APIs',
      'made',
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.FRAUD_HASH_KEY !== undefined) return
    report('FRAUD_HASH_KEY', 'is missing, and NODE_ENV=production creates no key; set the same random text for all API instances')
  },
  value: (env) => ({
    /**
     * Key for hashing e-mail addresses and phone numbers. Another key makes all earlier hashes worthless, including
     * those of the blocklist. If undefined, one is created in the home folder on first start.
     */
    hashKey: env.FRAUD_HASH_KEY,
  }),
})

export type FraudSettings = ValueOf<typeof fraudSettings>
