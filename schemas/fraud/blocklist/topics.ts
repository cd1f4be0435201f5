import { type Command, commandTopic, type Decision, decisionTopic } from '../../commands/topics.ts'
import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { commandsKept, compacted } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { FraudBlocklistCommand, FraudBlocklistEntry } from '../types.ts'

/**
 * Partition counts of topics with blocklist entries. Entries are independent of each other, so several tasks can change
 * many entries in parallel.
 */
const BY_ENTRY = { partitions: 2, productionPartitions: 8 }

/** Requests to change entries of the blocklist; key: entry_id. */
export const fraudBlocklistCommands: Topic<string, Command<FraudBlocklistCommand>> = commandTopic('fraud-blocklist-commands', {
  value: avro('fraud/FraudBlocklistCommand'),
  ...BY_ENTRY,
  config: commandsKept,
})

/** Entries of the blocklist for the view, and the results of commands; key: entry_id. */
export const fraudBlocklistDecisions: Topic<string, Decision<FraudBlocklistEntry>> = decisionTopic('fraud-blocklist-decisions', {
  value: avro('fraud/FraudBlocklistEntry'),
  ...BY_ENTRY,
  config: compacted,
})

/** The blocklist; key: <entity_type>:<entity_value>. Every API instance keeps the whole blocklist in memory. */
export const fraudBlocklist: Topic<string, FraudBlocklistEntry> = {
  name: 'fraud-blocklist',
  key: utf8,
  value: avro('fraud/FraudBlocklistEntry'),
  ...BY_ENTRY,
  config: compacted,
}
