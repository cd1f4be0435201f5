import type { CancelTimer } from '../../../runtime/runtime.ts'
import { fraudAudit, txnScored } from '../../../schemas/fraud/topics.ts'
import type { FraudSettingsChange, TxnScored } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { SpoolingFacts, SpoolingOptions } from '../../kit/spool/spooling-publisher.ts'

/**
 * Maximum time that an answer waits for its event to reach the spool. A disk that hangs must not stop scoring. While
 * this process is busy, the time is extended to at most `BUSY_MS`.
 */
export const LOG_MS = 20

/** The caller gets the answer once the event is in the spool, without waiting for Kafka. */
const SPOOLING: SpoolingOptions = { withinMs: 0, isAlwaysSpooled: true, isDurable: false }

/**
 * Records scored transactions. Each function resolves with true once the record is in Kafka or in the spool, and with
 * false if the record may be lost. A spooled record is sent even if this process is killed. No function throws.
 */
export interface ScoreLog {
  record(scored: TxnScored): Promise<boolean>
  /** Adds a record to the audit log. */
  audit(change: FraudSettingsChange): Promise<boolean>
}

export interface ScoreLogDeps {
  readonly facts: Pick<SpoolingFacts, 'publishOrSpool'>
  /** Called with the reason for each record that may be lost. */
  onLoss(reason: string): void
  setTimer(ms: number, callback: () => void): CancelTimer
}

export function scoreLog({ facts, onLoss, setTimer }: ScoreLogDeps): ScoreLog {
  function publish<V>(topic: Topic<string, V>, key: string, value: V): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const cancel = setTimer(LOG_MS, () => lost(`the spool did not accept an event within ${LOG_MS} ms`))
    let isSettled = false

    function settle(isKept: boolean): void {
      if (isSettled) return
      isSettled = true
      cancel()
      resolve(isKept)
    }

    function lost(reason: string): void {
      if (!isSettled) onLoss(reason)
      settle(false)
    }

    facts.publishOrSpool(topic, key, value, SPOOLING).then(
      () => settle(true),
      (error: Error) => lost(error.message),
    )
    return promise
  }

  return {
    record: (scored) => publish(txnScored, scored.request.payer.user_id, scored),
    audit: (change) => publish(fraudAudit, change.subject, change),
  }
}
