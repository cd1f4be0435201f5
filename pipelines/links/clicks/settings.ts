import { z } from 'zod'
import { settingsFragment } from '../../../settings/fragment.ts'
import { documented, flag } from '../../../settings/variables.ts'

export interface ClickSettings {
  /** Key of the hashes that stand for visitors; undefined: one is made in the state folder on first start. */
  readonly visitorSecret: string | undefined
  /** A MaxMind DB file with countries; undefined: the bundled one. */
  readonly countryDatabase: string | undefined
  /** True: visitors' addresses go to ClickHouse; false: only their hashes. */
  readonly keepAddresses: boolean
}

/** Shorter ones can be guessed. */
const MIN_SECRET_LENGTH = 16

export const clickSettings = settingsFragment({
  variables: {
    VISITOR_SECRET: documented(
      z.string().min(MIN_SECRET_LENGTH, `is shorter than ${MIN_SECRET_LENGTH} characters`).optional(),
      "key of the hashes of links' visitors; production needs one, the same for all workers",
      'made',
    ),
    GEOIP_DATABASE: documented(z.string().optional(), "a MaxMind DB file with the countries of links' visitors", 'bundled'),
    CLICKS_KEEP_ADDRESSES: documented(flag.prefault('0'), "1: addresses of links' visitors go to ClickHouse, not only their hashes"),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.VISITOR_SECRET !== undefined) return
    report(
      'VISITOR_SECRET',
      `is missing: with NODE_ENV=production every worker needs the same; set any random text of ${MIN_SECRET_LENGTH} characters or more`,
    )
  },
  value: (env): ClickSettings => ({
    visitorSecret: env.VISITOR_SECRET,
    countryDatabase: env.GEOIP_DATABASE,
    keepAddresses: env.CLICKS_KEEP_ADDRESSES,
  }),
})
