import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { commandsKept, compacted, DAY_MS, HOUR_MS, keptFor, SHORT_SEGMENT_MS } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import type { Topic } from '../topic.ts'
import { LIMITS_LIMITS } from './limits.ts'
import type { LimitChange, LimitClient, LimitCommand, LimitRule, LimitSetting, LimitTraffic, LimitViolation } from './types.ts'

/** Requests to change rate limit rules and API keys; key: rule:<rule_id> or key:<key_id>. */
export const limitCommands: Topic<string, Command<LimitCommand>> = commandTopic('limit-commands', {
  value: avro('limits/LimitCommand'),
  partitions: 1,
  productionPartitions: 4,
  config: commandsKept,
})

/** Rules, API keys and the results of commands about them; keyed like limit-commands. */
export const limitDecisions: Topic<string, Decision<LimitSetting>> = decisionTopic('limit-decisions', {
  value: avro('limits/LimitSetting'),
  partitions: 1,
  productionPartitions: 4,
  config: compacted,
})

/** Rate limit rules; key: rule_id. One partition is enough, because every API instance keeps all rules in memory. */
export const limitRules: Topic<string, LimitRule> = {
  name: 'limit-rules',
  key: utf8,
  value: avro('limits/LimitRule'),
  partitions: 1,
  config: compacted,
}

/** API keys; key: key_hash. */
export const limitClients: Topic<string, LimitClient> = {
  name: 'limit-clients',
  key: utf8,
  value: avro('limits/LimitClient'),
  partitions: 1,
  config: compacted,
}

/**
 * Changes to rules and API keys; key: rule:<rule_id> or key:<key_id>. Kept for a month; the ClickHouse table keeps them
 * longer.
 */
export const limitAudit: Topic<string, LimitChange> = {
  name: 'limit-audit',
  key: utf8,
  value: avro('limits/LimitChange'),
  partitions: 1,
  config: keptFor(30 * DAY_MS, DAY_MS),
}

/**
 * Requests over a limit, at most one per API instance, client, rule and second; key: client_id. Kept for a day, which
 * is long enough to refill a repaired table.
 */
export const limitViolations: Topic<string, LimitViolation> = {
  name: 'limit-violations',
  key: utf8,
  value: avro('limits/LimitViolation'),
  partitions: 2,
  productionPartitions: 8,
  config: keptFor(DAY_MS, HOUR_MS),
}

/**
 * Counts of the requests on which an API instance decided in each second; key: the API instance. Replays read the last
 * hour.
 */
export const limitTraffic: Topic<string, LimitTraffic> = {
  name: 'limit-traffic',
  key: utf8,
  value: avro('limits/LimitTraffic'),
  partitions: 2,
  productionPartitions: 8,
  config: keptFor(2 * HOUR_MS, SHORT_SEGMENT_MS),
}

export const limitsSchemas: ServiceSchemas = {
  topics: [limitCommands, limitDecisions, limitRules, limitClients, limitAudit, limitViolations, limitTraffic],
  limits: LIMITS_LIMITS,
}
