import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { FraudCase, FraudCaseCommand, FraudReview } from '../types.ts'

/** Retention of reviewed transactions. It allows for a replay of the last week after a bug is fixed. */
const REVIEWS_KEPT_DAYS = 7
/**
 * Partition counts of the topics about cases. All these topics have the same counts and the same key, so that one task
 * owns everything about a case.
 */
const BY_CASE = { partitions: 1, productionPartitions: 16 }

/** Transactions with the decision REVIEW; key: transaction_id. A transaction may occur more than once. */
export const fraudReviews: Topic<string, FraudReview> = {
  name: 'fraud-reviews',
  key: utf8,
  value: avro('fraud/FraudReview'),
  ...BY_CASE,
  config: keptFor(REVIEWS_KEPT_DAYS * DAY_MS, HOUR_MS),
}

/** Analysts' requests about cases; key: transaction_id. */
export const fraudCaseCommands: Topic<string, Command<FraudCaseCommand>> = commandTopic('fraud-case-commands', {
  value: avro('fraud/FraudCaseCommand'),
  ...BY_CASE,
  config: commandsKept,
})

/** Cases, and the results of commands about them; key: transaction_id. */
export const fraudCases: Topic<string, Decision<FraudCase>> = decisionTopic('fraud-cases', {
  value: avro('fraud/FraudCase'),
  ...BY_CASE,
  config: compacted,
})
