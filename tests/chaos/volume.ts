import type { BrokerSettings } from '../../deploy/local/kafka/settings.ts'

const KIB = 1_024

/** Settings of a run with large input: four times as many payments as in other runs, with long notes. */
export const VOLUME = {
  payments: 16_000,
  durationMs: 12_000,
  /**
   * Interval between transactions, ms. It is long, so that transactions are few and large. Each contains about 1,067
   * payments with notes of 4 KiB on average, 4 MiB in total.
   */
  batchEveryMs: 800,
  longestNoteBytes: 8 * KIB,
  accounts: 4_000,
  /**
   * On a busy machine, a large transaction may take longer than three seconds, the timeout of other runs. If every
   * transaction timed out, the workers would never make progress.
   */
  transactionTimeoutMs: 15_000,
} as const

export const VOLUME_BROKERS = 3 as const

/**
 * Every record has three replicas, two of which must be in sync. Log cleaners run continuously on segments of two
 * seconds. Leadership returns to the preferred replica within two seconds.
 */
export const VOLUME_SETTINGS: BrokerSettings = {
  'default.replication.factor': 3,
  'min.insync.replicas': 2,
  'offsets.topic.replication.factor': 3,
  'transaction.state.log.replication.factor': 3,
  'transaction.state.log.min.isr': 2,
  'leader.imbalance.check.interval.seconds': 1,
  'leader.imbalance.per.broker.percentage': 0,
  'replica.lag.time.max.ms': 3_000,
  'log.roll.ms': 2_000,
  'log.cleaner.backoff.ms': 500,
  'log.cleaner.min.cleanable.ratio': 0.01,
}
