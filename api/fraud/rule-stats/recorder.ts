import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { fraudRuleTallies } from '../../../schemas/fraud/rule-stats/topics.ts'
import type { FraudRuleTallies } from '../../../schemas/fraud/types.ts'
import { factBuffer } from '../../kit/fact-buffer.ts'
import type { KafkaFacts } from '../../kit/facts.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ScoredActivity } from './activity.ts'
import { HourCounts } from './hour-counts.ts'

/** Publishes the counts of the rules in this process. */
export interface RuleRecorder {
  scored(activity: Pick<ScoredActivity, 'tallies' | 'winner'>): void
  /** Publishes the counts that have changed. While earlier records wait for Kafka, publishes only once an hour. */
  tick(): void
  close(timeoutMs: number): Promise<void>
}

export interface RuleRecorderDeps {
  readonly facts: Pick<KafkaFacts, 'openLog'>
  readonly registry: Registry
  readonly log: Logger
  /** Epoch ms. */
  now(): number
}

/** Maximum number of buffered records. A process buffers fewer even if Kafka is unreachable for a day. */
const CAPACITY = 500

export function ruleRecorder({ facts, registry, log, now }: RuleRecorderDeps): RuleRecorder {
  const counts = new HourCounts(randomUUID, now())
  const records = factBuffer<string, FraudRuleTallies>({
    open: () => facts.openLog(fraudRuleTallies),
    capacity: CAPACITY,
    registry,
    name: 'fraud_rule_tallies',
    log,
  })

  function publish(): void {
    for (const record of counts.take(now())) records.offer(record.node, record)
  }

  return {
    scored({ tallies, winner }) {
      counts.evaluated(tallies)
      if (winner !== undefined) counts.decided(winner.rule_id)
    },
    tick() {
      // While Kafka does not accept records, the counts continue to grow here, and only the final counts of each hour
      // are buffered.
      if (records.size === 0 || counts.isOver(now())) publish()
    },
    async close(timeoutMs) {
      publish()
      await records.close(timeoutMs)
    },
  }
}
