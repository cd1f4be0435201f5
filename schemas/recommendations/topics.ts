import { decimalId, utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { APPEND_TIME, compacted, DAY_MS, HOUR_MS, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import { LARGE_RECORDS, type Topic } from '../topic.ts'
import { RECOMMENDATIONS_LIMITS } from './limits.ts'
import { modelTopics } from './models/topics.ts'
import { BY_ITEM, BY_USER } from './partitions.ts'
import type {
  EditorialList,
  Interaction,
  ItemActivity,
  ItemNeighbours,
  ItemStats,
  RecommendationItem,
  RecommendationUser,
  ServedRecommendations,
  TrendingItems,
  UserFeatures,
  UserPreferences,
} from './types.ts'

/**
 * Retention of event topics in days. A week of events can thus be processed again after an error. ClickHouse keeps
 * interactions for 90 days.
 */
const EVENTS_KEPT_DAYS = 7
/**
 * Configuration of event topics. The broker sets the timestamps of the records, so that an event with a time in the
 * future is recognised even if the clock of its sender is ahead.
 */
const eventsKept = { ...keptFor(EVENTS_KEPT_DAYS * DAY_MS, HOUR_MS), ...APPEND_TIME }

/** What users did with items; key: user_id. */
export const interactions: Topic<bigint, Interaction> = {
  name: 'interactions',
  key: decimalId,
  value: avro('recommendations/Interaction'),
  ...BY_USER,
  config: eventsKept,
}

/** Users' properties, such as country and age group; key: user_id. */
export const recommendationUsers: Topic<bigint, RecommendationUser> = {
  name: 'recommendation-users',
  key: decimalId,
  value: avro('recommendations/RecommendationUser'),
  ...BY_USER,
  config: compacted,
}

/** Preferences that users have stated; key: user_id. */
export const userPreferences: Topic<bigint, UserPreferences> = {
  name: 'user-preferences',
  key: decimalId,
  value: avro('recommendations/UserPreferences'),
  ...BY_USER,
  config: compacted,
}

/** The pages of lists that users received, with the items on each page; key: user_id. */
export const recommendationsServed: Topic<bigint, ServedRecommendations> = {
  name: 'recommendations-served',
  key: decimalId,
  value: avro('recommendations/ServedRecommendations'),
  ...BY_USER,
  config: eventsKept,
}

/**
 * Users' features, and pages of their sets of watched items, for Redis; keys as in events/user-keys.ts, partitioned by
 * user.
 */
export const userFeatures: Topic<string, UserFeatures> = {
  name: 'user-features',
  key: utf8,
  value: avro('recommendations/UserFeatures'),
  ...BY_USER,
  config: compacted,
}

/**
 * What users did with items; key: item_id. Each commit of a user partition writes one record per item, or several for
 * an item with very many events.
 */
export const itemEvents: Topic<bigint, ItemActivity> = {
  name: 'item-events',
  key: decimalId,
  value: avro('recommendations/ItemActivity'),
  ...BY_ITEM,
  config: { ...keptFor(DAY_MS, HOUR_MS), ...LARGE_RECORDS },
}

/** Everything that can be recommended; key: item_id. */
export const items: Topic<bigint, RecommendationItem> = {
  name: 'items',
  key: decimalId,
  value: avro('recommendations/RecommendationItem'),
  ...BY_ITEM,
  config: compacted,
}

/** Statistics of items; key: item_id. Every API process keeps the statistics of all items in memory. */
export const itemStats: Topic<bigint, ItemStats> = {
  name: 'item-stats',
  key: decimalId,
  value: avro('recommendations/ItemStats'),
  ...BY_ITEM,
  config: compacted,
}

/** The nearest neighbours of each item, for Redis; key: item_id. */
export const itemNeighbours: Topic<bigint, ItemNeighbours> = {
  name: 'item-neighbours',
  key: decimalId,
  value: avro('recommendations/ItemNeighbours'),
  ...BY_ITEM,
  config: compacted,
}

/** The trending items of each group of users; key: the group. Every API process keeps all groups' items in memory. */
export const trendingItems: Topic<string, TrendingItems> = {
  name: 'trending-items',
  key: utf8,
  value: avro('recommendations/TrendingItems'),
  partitions: 1,
  config: compacted,
}

/**
 * Lists of items by editors, and the rule that raises the scores of new items; key: the name of the list, or
 * `new-releases` for the rule. Every API process keeps all of them in memory.
 */
export const editorialLists: Topic<string, EditorialList> = {
  name: 'editorial-lists',
  key: utf8,
  value: avro('recommendations/EditorialList'),
  partitions: 1,
  config: compacted,
}

export const recommendationsSchemas: ServiceSchemas = {
  topics: [
    interactions,
    recommendationUsers,
    userPreferences,
    recommendationsServed,
    userFeatures,
    itemEvents,
    items,
    itemStats,
    itemNeighbours,
    trendingItems,
    editorialLists,
    ...modelTopics,
  ],
  limits: RECOMMENDATIONS_LIMITS,
}
