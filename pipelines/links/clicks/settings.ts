import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../../settings/fragment.ts'
import { documented, flag } from '../../../settings/variables.ts'

/** Minimum length of the secret. Shorter secrets can be guessed. */
const MIN_SECRET_LENGTH = 16

export const clickSettings = settingsFragment({
  variables: {
    VISITOR_SECRET: documented(
      z.string().min(MIN_SECRET_LENGTH, `is shorter than ${MIN_SECRET_LENGTH} characters`).optional(),
      'secret key for the hashes that identify visitors of links; required in production, and must be the same for all workers',
      'generated at the first start',
    ),
    GEOIP_DATABASE: documented(
      z.string().optional(),
      'MaxMind DB file that maps the IP addresses of link visitors to countries',
      'bundled',
    ),
    CLICKS_KEEP_ADDRESSES: documented(
      flag.prefault('0'),
      '1 stores the IP addresses of link visitors in ClickHouse in addition to their hashes',
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.VISITOR_SECRET !== undefined) return
    report(
      'VISITOR_SECRET',
      `is missing: with NODE_ENV=production all workers must share one secret; set it to any random text of at least ${MIN_SECRET_LENGTH} characters`,
    )
  },
  value: (env) => ({
    /** The key for hashing visitors. If undefined, a key is created in the state folder on first start. */
    visitorSecret: env.VISITOR_SECRET,
    /** A MaxMind DB file with countries. If undefined, the bundled file is used. */
    countryDatabase: env.GEOIP_DATABASE,
    /** Whether visitors' addresses are written to ClickHouse. If false, only their hashes are. */
    keepAddresses: env.CLICKS_KEEP_ADDRESSES,
  }),
})

export type ClickSettings = ValueOf<typeof clickSettings>
