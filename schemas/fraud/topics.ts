import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import { LARGE_RECORDS, type Topic } from '../topic.ts'
import { fraudBlocklist, fraudBlocklistCommands, fraudBlocklistDecisions } from './blocklist/topics.ts'
import { fraudCaseCommands, fraudCases, fraudReviews } from './cases/topics.ts'
import { fraudRuleTallies } from './rule-stats/topics.ts'
import type { FraudFeedback, FraudProfile, FraudSetting, FraudSettingsChange, FraudSettingsCommand, TxnScored } from './types.ts'

/** Retention of events. With it, the last week can be replayed after a bug is fixed. */
const EVENTS_KEPT_DAYS = 7
const eventsKept = keptFor(EVENTS_KEPT_DAYS * DAY_MS, HOUR_MS)

/** Scored transactions; key: payer.user_id. A transaction may occur more than once. */
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

/**
 * Profiles; key: <kind>:<id>. The topic is the changelog of the store that contains the profiles. The view reads the
 * same topic, so that no second topic with the same bytes is needed.
 */
export const fraudProfiles: Topic<string, FraudProfile> = {
  name: 'fraud-profiles-profiles-changelog',
  key: utf8,
  value: avro('fraud/FraudProfile'),
  partitions: 1,
  productionPartitions: 128,
  config: { ...compacted, ...LARGE_RECORDS },
}

/**
 * Requests to change settings; key: the setting. The single partition ensures that changes to rules, and to the
 * settings on which rules depend, are decided in a single order.
 */
export const fraudSettingsCommands: Topic<string, Command<FraudSettingsCommand>> = commandTopic('fraud-settings-commands', {
  value: avro('fraud/FraudSettingsCommand'),
  partitions: 1,
  productionPartitions: 1,
  config: { ...commandsKept, ...LARGE_RECORDS },
})

/** The versions of the rule set that can be restored (key: version:<n>), and the results of commands. */
export const fraudSettingsDecisions: Topic<string, Decision<FraudSetting>> = decisionTopic('fraud-settings-decisions', {
  value: avro('fraud/FraudSetting'),
  partitions: 1,
  productionPartitions: 1,
  config: { ...compacted, ...LARGE_RECORDS },
})

/**
 * Settings in force; key: the setting. One partition is enough, because every API instance keeps all settings in
 * memory.
 */
export const fraudRulesets: Topic<string, FraudSetting> = {
  name: 'fraud-rulesets',
  key: utf8,
  value: avro('fraud/FraudSetting'),
  partitions: 1,
  config: { ...compacted, ...LARGE_RECORDS },
}

/**
 * Changes to settings and to the blocklist, and repeated transactions that the blocklist blocked; key: the subject of
 * the record. Kept for a month; the ClickHouse table keeps them longer.
 */
export const fraudAudit: Topic<string, FraudSettingsChange> = {
  name: 'fraud-audit',
  key: utf8,
  value: avro('fraud/FraudSettingsChange'),
  partitions: 1,
  config: { ...keptFor(30 * DAY_MS, DAY_MS), ...LARGE_RECORDS },
}

export const fraudSchemas: ServiceSchemas = {
  topics: [
    txnScored,
    fraudFeedback,
    fraudProfiles,
    fraudReviews,
    fraudCaseCommands,
    fraudCases,
    fraudRuleTallies,
    fraudSettingsCommands,
    fraudSettingsDecisions,
    fraudRulesets,
    fraudAudit,
    fraudBlocklistCommands,
    fraudBlocklistDecisions,
    fraudBlocklist,
  ],
}
