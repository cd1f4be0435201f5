import { type Command, commandTopic, type Decision, decisionTopic } from './commands/topics.ts'
import { decimalId, decimalInt, utf8 } from './keys.ts'
import { avro } from './load.ts'
import { LARGE_RECORDS, type Topic } from './topic.ts'
import type {
  BlobReferences,
  Click,
  ClickDetails,
  LimitChange,
  LimitClient,
  LimitCommand,
  LimitRule,
  LimitSetting,
  LimitTraffic,
  LimitViolation,
  Link,
  LinkCommand,
  LinkDeletion,
  LinkStats,
  Snippet,
  SnippetCommand,
  SnippetRead,
  SnippetText,
  SnippetViews,
  TrendOutput,
  TrendVolume,
  Tweet,
  UserInterests,
} from './types.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const CLICK_DETAILS_DAYS = 3
const LINK_DELETIONS_DAYS = 7

/** Only closed segments are deleted: a short retention needs short segments. */
const SHORT_SEGMENT_MS = 10 * MINUTE_MS
/** Compaction leaves the open segment alone; without this a quiet topic would keep every version for a week. */
const COMPACTED_SEGMENT_MS = 6 * HOUR_MS

function keptFor(retentionMs: number, segmentMs: number): Readonly<Record<string, string>> {
  return { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs), 'segment.ms': String(segmentMs) }
}

const compacted: Readonly<Record<string, string>> = { 'cleanup.policy': 'compact', 'segment.ms': String(COMPACTED_SEGMENT_MS) }

/**
 * Tweet events; key: user_id, so that one user's events stay in order. A day: enough to replay what a repaired pipeline missed. Records bear the
 * time at which they came to the broker: whether a tweet is late must not be the sender's word (docs/adr/0019).
 */
export const tweets: Topic<bigint, Tweet> = {
  name: 'tweets',
  key: decimalId,
  value: avro('trends/Tweet'),
  partitions: 4,
  productionPartitions: 32,
  config: { ...keptFor(DAY_MS, HOUR_MS), 'message.timestamp.type': 'LogAppendTime' },
}

/** Interest profiles; key: user_id. */
export const userInterests: Topic<bigint, UserInterests> = {
  name: 'user-interests',
  key: decimalId,
  value: avro('trends/UserInterests'),
  partitions: 4,
  productionPartitions: 16,
  config: compacted,
}

/** A list of 500 longest terms, each with its longest spelling, takes 1.2 MB. */
const listsKept = { ...keptFor(HOUR_MS, SHORT_SEGMENT_MS), ...LARGE_RECORDS }

/** One ranked list per region and minute; key: woeid. Views are rebuilt from the last minutes, so an hour is plenty. */
export const trendOutput: Topic<number, TrendOutput> = {
  name: 'trend-output',
  key: decimalInt,
  value: avro('trends/TrendOutput'),
  partitions: 4,
  productionPartitions: 8,
  config: listsKept,
}

/** The same lists at the half minutes: they renew the view and are not history. */
export const trendRenewals: Topic<number, TrendOutput> = {
  name: 'trend-renewals',
  key: decimalInt,
  value: trendOutput.value,
  partitions: trendOutput.partitions,
  productionPartitions: trendOutput.productionPartitions,
  config: listsKept,
}

/** Counts per term, region and minute; key: <woeid>:<term>. The history of every term; a day, to fill a repaired table. */
export const trendVolumes: Topic<string, TrendVolume> = {
  name: 'trend-volumes',
  key: utf8,
  value: avro('trends/TrendVolume'),
  partitions: 4,
  productionPartitions: 32,
  config: keptFor(DAY_MS, HOUR_MS),
}

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

/** A day: what a repaired pipeline must decide is long past its deadline, but it may have to be looked into. */
const commandsKept = keptFor(DAY_MS, HOUR_MS)

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

/** Requests to change rate limit rules and API keys; key: rule:<rule_id> or key:<key_id>. */
export const limitCommands: Topic<string, Command<LimitCommand>> = commandTopic('limit-commands', {
  value: avro('limits/LimitCommand'),
  partitions: 1,
  productionPartitions: 4,
  config: commandsKept,
})

/** Rules and API keys, and the results of commands about them; key: as in limit-commands. */
export const limitDecisions: Topic<string, Decision<LimitSetting>> = decisionTopic('limit-decisions', {
  value: avro('limits/LimitSetting'),
  partitions: 1,
  productionPartitions: 4,
  config: compacted,
})

/** Rate limit rules; key: rule_id. Every API instance holds all of them, so one partition is enough. */
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

/** Who changed which rule or key; key: rule:<rule_id> or key:<key_id>. A month: the table keeps it for longer. */
export const limitAudit: Topic<string, LimitChange> = {
  name: 'limit-audit',
  key: utf8,
  value: avro('limits/LimitChange'),
  partitions: 1,
  config: keptFor(30 * DAY_MS, DAY_MS),
}

/** Requests over a limit; key: client_id. A day: enough to fill a repaired table. */
export const limitViolations: Topic<string, LimitViolation> = {
  name: 'limit-violations',
  key: utf8,
  value: avro('limits/LimitViolation'),
  partitions: 2,
  productionPartitions: 8,
  config: keptFor(DAY_MS, HOUR_MS),
}

/** What was decided in each second; key: the API instance. Replays look back an hour. */
export const limitTraffic: Topic<string, LimitTraffic> = {
  name: 'limit-traffic',
  key: utf8,
  value: avro('limits/LimitTraffic'),
  partitions: 2,
  productionPartitions: 8,
  config: keptFor(2 * HOUR_MS, SHORT_SEGMENT_MS),
}

/** Partitions of everything about snippets: state, views and counts of one snippet lie in the same one. */
const SNIPPET_PARTITIONS = 4
const SNIPPET_PRODUCTION_PARTITIONS = 32

/** Requests about snippets; key: paste_id. */
export const snippetCommands: Topic<string, Command<SnippetCommand>> = commandTopic('snippet-commands', {
  value: avro('snippets/SnippetCommand'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: commandsKept,
})

/** Snippets without their content, and the results of commands about them; key: paste_id. */
export const snippetDecisions: Topic<string, Decision<Snippet>> = decisionTopic('snippet-decisions', {
  value: avro('snippets/Snippet'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: compacted,
})

/** Which blobs are wanted; key: content_hash, partitioned as the snippets that want them. */
export const snippetBlobs: Topic<string, BlobReferences> = {
  name: 'snippet-blobs',
  key: utf8,
  value: avro('snippets/BlobReferences'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: compacted,
}

/** A content was sent to a reader; key: paste_id. */
export const snippetReads: Topic<string, SnippetRead> = {
  name: 'snippet-reads',
  key: utf8,
  value: avro('snippets/SnippetRead'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: keptFor(DAY_MS, HOUR_MS),
}

/** How often each snippet was read; key: paste_id. */
export const snippetViewCounts: Topic<string, SnippetViews> = {
  name: 'snippet-view-counts',
  key: utf8,
  value: avro('snippets/SnippetViews'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: compacted,
}

/** What the search and analysts know of snippets; key: paste_id. Compacted: the newest of each fills a repaired table. */
export const snippetTexts: Topic<string, SnippetText> = {
  name: 'snippet-texts',
  key: utf8,
  value: avro('snippets/SnippetText'),
  partitions: SNIPPET_PARTITIONS,
  productionPartitions: SNIPPET_PRODUCTION_PARTITIONS,
  config: compacted,
}
