import { decimalId, decimalInt, utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { APPEND_TIME, compacted, DAY_MS, HOUR_MS, keptFor, SHORT_SEGMENT_MS } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import { LARGE_RECORDS, type Topic } from '../topic.ts'
import { TRENDS_LIMITS } from './limits.ts'
import type { BlockedTerm, TrendOutput, TrendRareVolumes, TrendVolume, Tweet, UserInterests } from './types.ts'

/**
 * Tweet events; key: user_id, so that a user's events stay in order. Kept for a day, so that a repaired pipeline
 * can replay what it missed. Records have the broker's timestamp, because the sender must not decide whether a tweet is
 * late (docs/adr/0019).
 */
export const tweets: Topic<bigint, Tweet> = {
  name: 'tweets',
  key: decimalId,
  value: avro('trends/Tweet'),
  partitions: 4,
  productionPartitions: 32,
  config: { ...keptFor(DAY_MS, HOUR_MS), ...APPEND_TIME },
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

/**
 * Configuration for lists. A list of 500 terms of maximum length, each with its longest spelling, takes 1.2 MB. This is
 * more than a broker accepts by default.
 */
const listsKept = { ...keptFor(HOUR_MS, SHORT_SEGMENT_MS), ...LARGE_RECORDS }

/**
 * One ranked list per region and minute; key: woeid. Views are rebuilt from the last minutes, so a retention of one
 * hour is sufficient.
 */
export const trendOutput: Topic<number, TrendOutput> = {
  name: 'trend-output',
  key: decimalInt,
  value: avro('trends/TrendOutput'),
  partitions: 4,
  productionPartitions: 8,
  config: listsKept,
}

/** Lists that are published at the half minutes. They refresh the view, but are not part of the history. */
export const trendRenewals: Topic<number, TrendOutput> = {
  name: 'trend-renewals',
  key: decimalInt,
  value: trendOutput.value,
  partitions: trendOutput.partitions,
  productionPartitions: trendOutput.productionPartitions,
  config: listsKept,
}

/** Counts of frequent terms per region and minute; key: <woeid>:<term>. Kept for a day to refill a repaired table. */
export const trendVolumes: Topic<string, TrendVolume> = {
  name: 'trend-volumes',
  key: utf8,
  value: avro('trends/TrendVolume'),
  partitions: 4,
  productionPartitions: 32,
  config: keptFor(DAY_MS, HOUR_MS),
}

/**
 * Counts of rare terms per minute. A record contains many terms, each with its counts in all regions; key: the
 * partition of the terms. Together with `trend-volumes`, the records are the history of every term. Both topics keep
 * their records for the same time.
 */
export const trendRareVolumes: Topic<number, TrendRareVolumes> = {
  name: 'trend-rare-volumes',
  key: decimalInt,
  value: avro('trends/TrendRareVolumes'),
  partitions: trendVolumes.partitions,
  productionPartitions: trendVolumes.productionPartitions,
  config: trendVolumes.config,
}

/** Terms that administrators block; key: the folded term. Every API process keeps all of them in memory. */
export const blockedTerms: Topic<string, BlockedTerm> = {
  name: 'trends-blocked-terms',
  key: utf8,
  value: avro('trends/BlockedTerm'),
  partitions: 1,
  config: compacted,
}

export const trendsSchemas: ServiceSchemas = {
  topics: [tweets, userInterests, trendOutput, trendRenewals, trendVolumes, trendRareVolumes, blockedTerms],
  limits: TRENDS_LIMITS,
}
