import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, timerMs } from '../../settings/variables.ts'

export const matchesSettings = settingsFragment({
  variables: {
    SWIPE_WAIT_MS: documented(
      timerMs().prefault('25'),
      'how long a swipe may wait for Kafka, counted from its arrival, before the API answers it with 202 and sends it later',
    ),
    SWIPE_CHECK_MS: documented(
      timerMs().prefault('5'),
      'how long a swipe may wait for the views to check its target, before the API accepts it unchecked',
    ),
  },
  value: (env) => ({ swipeWaitMs: env.SWIPE_WAIT_MS, swipeCheckMs: env.SWIPE_CHECK_MS }),
})

export type MatchesSettings = ValueOf<typeof matchesSettings>
