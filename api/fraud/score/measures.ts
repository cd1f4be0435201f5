import type { Registry } from 'prom-client'
import type { Logger } from '../../kit/logging.ts'
import { counter } from '../../kit/metrics.ts'
import { spacedWarning } from '../../kit/spaced-warning.ts'
import type { ScoreAnswer } from './model.ts'

const WARN_EVERY_MS = 10_000

/** Counts the answers of scoring, the parts that were unavailable, and lost events. Logs failures as warnings. */
export function scoreMeasures(registry: Registry, log: Logger) {
  const answers = counter(registry, 'fraud_answers_total', 'Answers to scoring requests', 'decision', 'reason')
  const repeats = counter(registry, 'fraud_repeated_requests_total', 'Scoring requests that got an earlier answer')
  const degraded = counter(registry, 'fraud_degraded_answers_total', 'Answers given while part of the service was unavailable', 'part')
  const lost = counter(
    registry,
    'fraud_events_lost_total',
    'Events and audit records of scoring that neither Kafka nor the spool accepted in time',
  )

  /**
   * Returns a function that logs the newest reason as a warning. The rate of warnings is limited, so not every failure
   * is logged.
   */
  function warning(event: string): (reason: string) => void {
    let newest = ''
    const spaced = spacedWarning({ everyMs: WARN_EVERY_MS, say: (times) => log.warn({ times, reason: newest }, event) })
    return (reason) => {
      newest = reason
      spaced.happened()
    }
  }

  const warnLoss = warning('fraud_event_lost')
  return {
    onAnswer({ decision, reason, degraded: parts }: ScoreAnswer, isRepeat: boolean): void {
      answers.inc({ decision, reason })
      if (isRepeat) repeats.inc()
      for (const part of parts) degraded.inc({ part })
    },
    onProfilesAway: warning('fraud_profiles_away'),
    onAnswersAway: warning('fraud_answers_away'),
    onLoss(reason: string): void {
      lost.inc()
      warnLoss(reason)
    },
  }
}
