import { projection } from '../../../schemas/avro/projection.ts'
import type { ReviewedTransaction } from '../../../schemas/fraud/cases/review.ts'
import { txnScored } from '../../../schemas/fraud/topics.ts'
import type { Topic } from '../../../schemas/topic.ts'

/** The fields of a scored transaction that profiles and cases need. */
export type CountedTransaction = ReviewedTransaction

const FIELDS = [
  'request.transaction_id',
  'request.timestamp',
  'request.amount',
  'request.currency',
  'request.payer.user_id',
  'request.payee.merchant_id',
  'request.payment_instrument.card_hash',
  'request.device.fingerprint_id',
  'request.device.ip_address',
  'request.device.lat',
  'request.device.lng',
  'decision',
  'risk_score',
  'triggered_rules',
  'risk_factors',
  'scored_at',
]

/** The topic `txn.scored`, without the fields that neither profiles nor cases need. */
export const countedTransactions: Topic<string, CountedTransaction> = {
  ...txnScored,
  value: projection<CountedTransaction>(txnScored.value, FIELDS),
}
