import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, wholeNumber } from '../../settings/variables.ts'

/** Minimum length of the secret. A secret of 128 bits has 22 characters in Base64. */
const MIN_SECRET_CHARACTERS = 22
const PERCENT = 100
const MAX_READ_MS = 1_000

export const recommendationsSettings = settingsFragment({
  variables: {
    RECOMMENDATIONS_SECRET: documented(
      z.string().min(MIN_SECRET_CHARACTERS, 'is too short; use at least 22 random characters').optional(),
      'secret that signs page tokens; production requires one, the same for all APIs',
      'generated at the first start',
    ),
    RECOMMENDATIONS_READ_MS: documented(
      wholeNumber(1, MAX_READ_MS).prefault('250'),
      'how long, in ms, a list waits for each round trip to Redis before it is computed without the missing data',
    ),
    RECOMMENDATIONS_FEATURES_PERCENT: documented(
      wholeNumber(0, PERCENT).prefault('100'),
      'share of the answers whose ranking features are recorded in `recommendations-served`, in percent',
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.RECOMMENDATIONS_SECRET !== undefined) return
    report(
      'RECOMMENDATIONS_SECRET',
      'is missing, and no secret is created if NODE_ENV=production; set the same random text for all API instances',
    )
  },
  value: (env) => ({
    /** The secret that signs page tokens. If undefined, a secret is created at the first start. */
    secret: env.RECOMMENDATIONS_SECRET,
    readMs: env.RECOMMENDATIONS_READ_MS,
    featuresShare: env.RECOMMENDATIONS_FEATURES_PERCENT / PERCENT,
  }),
})

export type RecommendationsSettings = ValueOf<typeof recommendationsSettings>
