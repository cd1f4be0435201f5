import type { FraudFeedback } from '../../../schemas/fraud/types.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'
import { TRANSACTION_DAYS } from './retention.ts'

/**
 * All verdicts about transactions, including corrections, kept for 90 days. The label of a transaction is its newest
 * verdict. If this verdict is SUSPICIOUS, the transaction has no label. Fed by `fraud-feedback`. Read it with FINAL.
 */
export const fraudFeedbackTable: Table<string, FraudFeedback> = {
  name: 'fraud_feedback',
  columns: [
    'transaction_id String',
    'case_id UInt64',
    'verdict LowCardinality(String)',
    'previous_verdict LowCardinality(Nullable(String))',
    "previous_at Nullable(DateTime64(3, 'UTC'))",
    'fraud_type Nullable(String)',
    'notes String',
    'evidence Array(String)',
    'reporter String',
    "at DateTime64(3, 'UTC')",
    'user_id String',
    'device Nullable(String)',
    'ip Nullable(String)',
    'card Nullable(String)',
    'merchant Nullable(String)',
  ],
  orderBy: '(transaction_id, at, kafka_partition, kafka_offset)',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${TRANSACTION_DAYS} DAY`,
  rowsOf(_id, feedback) {
    if (feedback === null) return []
    const { at, previous_at, ...columns } = feedback
    return [{ ...columns, at: isoTime(at), previous_at: isoTimeOrNull(previous_at) }]
  },
  partitionOf: (_id, { at }) => isoMonth(at),
}
