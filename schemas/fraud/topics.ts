import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { compacted, DAY_MS, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import { LARGE_RECORDS, type Topic } from '../topic.ts'
import type { FraudFeedback, FraudProfile, TxnScored } from './types.ts'

/** Replays after a bad week. */
const EVENTS_KEPT_DAYS = 7
const eventsKept = keptFor(EVENTS_KEPT_DAYS * DAY_MS, HOUR_MS)

/** Every scored transaction, possibly more than once; key: payer.user_id. */
export const txnScored: Topic<string, TxnScored> = {
  name: 'txn.scored',
  key: utf8,
  value: avro('fraud/TxnScored'),
  partitions: 1,
  productionPartitions: 64,
  config: eventsKept,
}

/** Analysts' verdicts; key: transaction_id. */
export const fraudFeedback: Topic<string, FraudFeedback> = {
  name: 'fraud-feedback',
  key: utf8,
  value: avro('fraud/FraudFeedback'),
  partitions: 1,
  productionPartitions: 16,
  config: eventsKept,
}

/** Profiles; key: <kind>:<id>. */
export const fraudProfiles: Topic<string, FraudProfile> = {
  name: 'fraud-profiles',
  key: utf8,
  value: avro('fraud/FraudProfile'),
  partitions: 1,
  productionPartitions: 128,
  config: { ...compacted, ...LARGE_RECORDS },
}

export const fraudSchemas: ServiceSchemas = { topics: [txnScored, fraudFeedback, fraudProfiles] }
