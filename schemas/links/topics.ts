import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { APPEND_TIME, commandsKept, compacted, DAY_MS, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import type { Topic } from '../topic.ts'
import { LINKS_LIMITS } from './limits.ts'
import type { Click, ClickDetails, Link, LinkCommand, LinkDeletion, LinkStats } from './types.ts'

const CLICK_DETAILS_DAYS = 3
const LINK_DELETIONS_DAYS = 7

/**
 * One event per counted redirect; key: short_code, so that all clicks of a link are counted in one partition. Kept for
 * a day, so that a repaired pipeline can replay what it missed. Events are not kept longer, because they contain
 * visitors' addresses. Records have the broker's timestamp, because the broker would delete a record soon after its
 * arrival if the producer set the timestamp to the time of an old click. The details of a click have the same
 * timestamp.
 */
export const clicks: Topic<string, Click> = {
  name: 'clicks',
  key: utf8,
  value: avro('links/Click'),
  partitions: 4,
  productionPartitions: 64,
  config: { ...keptFor(DAY_MS, HOUR_MS), ...APPEND_TIME },
}

/**
 * The details of every counted click; key: short_code. Contains visitors' addresses only if `CLICKS_KEEP_ADDRESSES` is
 * set. Kept for three days, so that a table can be repaired and refilled after a weekend.
 */
export const clickDetails: Topic<string, ClickDetails> = {
  name: 'click-details',
  key: utf8,
  value: avro('links/ClickDetails'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: keptFor(CLICK_DETAILS_DAYS * DAY_MS, HOUR_MS),
}

/**
 * Statistics per link; key: short_code. Partitioned like the clicks, so that each partition can report the time up to
 * which its clicks have been counted.
 */
export const linkStats: Topic<string, LinkStats> = {
  name: 'link-stats',
  key: utf8,
  value: avro('links/LinkStats'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: compacted,
}

/**
 * Permanently deleted links whose clicks were counted; key: short_code, partitioned like their clicks. Kept for a week.
 * If a pipeline is down for longer than that, a few counts remain that are never read.
 */
export const linkDeletions: Topic<string, LinkDeletion> = {
  name: 'link-deletions',
  key: utf8,
  value: avro('links/LinkDeletion'),
  partitions: clicks.partitions,
  productionPartitions: clicks.productionPartitions,
  config: keptFor(LINK_DELETIONS_DAYS * DAY_MS, DAY_MS),
}

/**
 * Partition counts for decisions about links. Locally, one partition is enough, because one worker makes thousands of
 * decisions per second. More partitions would cost more, because a transaction writes a commit marker into every
 * partition that it touches.
 */
const LINK_PARTITIONS = 1
const LINK_PRODUCTION_PARTITIONS = 64

/** Requests to create, change or delete short links; key: short_code. */
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

/** Each user's links; key: <user_id>:<short_code>, partitioned by user_id alone. */
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
  limits: LINKS_LIMITS,
}
