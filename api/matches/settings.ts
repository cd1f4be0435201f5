import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, wholeNumber } from '../../settings/variables.ts'

export const matchesSettings = settingsFragment({
  variables: {
    SWIPE_WAIT_MS: documented(
      wholeNumber(0).prefault('25'),
      'how long after its arrival a swipe waits for Kafka before it is answered with 202 and sent later',
    ),
    SWIPE_CHECK_MS: documented(
      wholeNumber(0).prefault('5'),
      'how long a swipe waits for the views to check its target, before it is accepted unchecked',
    ),
  },
  value: (env) => ({ swipeWaitMs: env.SWIPE_WAIT_MS, swipeCheckMs: env.SWIPE_CHECK_MS }),
})

export type MatchesSettings = ValueOf<typeof matchesSettings>
