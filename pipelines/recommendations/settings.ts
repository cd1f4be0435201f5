import { join } from 'node:path'
import { z } from 'zod'
import { HOUR_MS } from '../../schemas/retention.ts'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, wholeNumber } from '../../settings/variables.ts'

/**
 * Default number of hours between two training runs. It is below 6 hours, the age at which embeddings are reported as
 * too old.
 */
const DEFAULT_HOURS = '4'
const HOURS_OF_A_WEEK = 168

export const recommendationsTrainingSettings = settingsFragment({
  variables: {
    RECOMMENDATIONS_TRAIN_HOURS: documented(
      wholeNumber(0, HOURS_OF_A_WEEK).prefault(DEFAULT_HOURS),
      'hours between the starts of two training runs of recommendation models; 0 trains only on request',
    ),
    RECOMMENDATIONS_PYTHON: documented(
      z.string().optional(),
      'folder of a Python environment with the packages of `tools/recommendations/python/requirements.txt`',
      'created by the first training run',
    ),
  },
  value: (env, { home }) => ({
    /** Undefined if models are trained only on request. */
    trainEveryMs: env.RECOMMENDATIONS_TRAIN_HOURS === 0 ? undefined : env.RECOMMENDATIONS_TRAIN_HOURS * HOUR_MS,
    python: env.RECOMMENDATIONS_PYTHON,
    /** The folder that contains downloaded tools. */
    tools: join(home, 'tools'),
  }),
})

export type RecommendationsTrainingSettings = ValueOf<typeof recommendationsTrainingSettings>
