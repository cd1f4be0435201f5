import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import type { Topic } from '../topic.ts'
import type { Click, ClickDetails, Link, LinkCommand, LinkDeletion, LinkStats } from './types.ts'

const CLICK_DETAILS_DAYS = 3
const LINK_DELETIONS_DAYS = 7

/**
 * One event per counted redirect; key: short_code, so that one link's clicks are folded in one place. A day: enough to replay what a repaired
 * pipeline missed, and no longer than needed, because it is where visitors' addresses lie.
 */
export const clicks: Topic<string, Click> = {
  name: 'clicks',
  key: utf8,
  value: avro('links/Click'),
  partitions: 4,
  productionPartitions: 64,
  config: keptFor(DAY_MS, HOUR_MS),
}

/** Every click without the visitor's address; key: short_code. Three days: a weekend, to fill a repaired table. */
export const clickDetails: Topic<string, ClickDetails> = {
  name: 'click-details',
  key: utf8,
  value: avro('links/ClickDetails'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: keptFor(CLICK_DETAILS_DAYS * DAY_MS, HOUR_MS),
}

/** Statistics per link; key: short_code, partitioned as the clicks are, so that a partition can say up to when it is counted. */
export const linkStats: Topic<string, LinkStats> = {
  name: 'link-stats',
  key: utf8,
  value: avro('links/LinkStats'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: compacted,
}

/** Links that are gone for good; key: short_code, partitioned as their clicks are. A week: pipelines that were away for longer keep some numbers that nobody sees. */
export const linkDeletions: Topic<string, LinkDeletion> = {
  name: 'link-deletions',
  key: utf8,
  value: avro('links/LinkDeletion'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: keptFor(LINK_DELETIONS_DAYS * DAY_MS, DAY_MS),
}

/**
 * A transaction writes its end into every partition that it touches: decisions about links that come together lie in as few as the deciding
 * workers are. One worker decides thousands a second.
 */
const LINK_PARTITIONS = 1
const LINK_PRODUCTION_PARTITIONS = 64

/** Requests to make or change short links; key: short_code. */
export const linkCommands: Topic<string, Command<LinkCommand>> = commandTopic('link-commands', {
  value: avro('links/LinkCommand'),
  partitions: LINK_PARTITIONS,
  productionPartitions: LINK_PRODUCTION_PARTITIONS,
  config: commandsKept,
})

/** Short links and the results of commands about them; key: short_code. */
export const linkDecisions: Topic<string, Decision<Link>> = decisionTopic('link-decisions', {
  value: avro('links/Link'),
  partitions: LINK_PARTITIONS,
  productionPartitions: LINK_PRODUCTION_PARTITIONS,
  config: compacted,
})

/** The links of each user; key: <user_id>:<short_code>, partitioned by the user_id alone. */
export const userLinks: Topic<string, Link> = {
  name: 'user-links',
  key: utf8,
  value: avro('links/Link'),
  partitions: LINK_PARTITIONS,
  productionPartitions: LINK_PRODUCTION_PARTITIONS,
  config: compacted,
}

export const linksSchemas: ServiceSchemas = {
  topics: [clicks, clickDetails, linkStats, linkDeletions, linkCommands, linkDecisions, userLinks],
}
