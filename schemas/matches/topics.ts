import { type Command, commandTopic, type Decision, decisionTopic } from '../commands/topics.ts'
import { utf8 } from '../keys.ts'
import { avro } from '../load.ts'
import { commandsKept, compacted, DAY_MS, erasable, erasableKept, erasableKeys, HOUR_MS, idsErasable, keptFor } from '../retention.ts'
import type { ServiceSchemas } from '../service.ts'
import type { Topic } from '../topic.ts'
import { MATCHES_LIMITS } from './limits.ts'
import type {
  AcceptedSwipe,
  LocationUpdate,
  MatchDeletion,
  MatchEvent,
  MatchIndexEntry,
  MatchNotification,
  MatchProfile,
  MatchProfileCommand,
  MatchRelation,
  MatchSeen,
  PairCommand,
  PairRow,
  PairSwipe,
  StackRefillRequest,
  SwipeEvent,
} from './types.ts'

/**
 * Retention of event topics in days, long enough to reprocess a week of events after an error. The bare ids of deleted
 * users remain in event topics for this long.
 */
const EVENTS_KEPT_DAYS = 7
export const eventsKept = keptFor(EVENTS_KEPT_DAYS * DAY_MS, HOUR_MS)

/**
 * Partition count of topics that are keyed by a user. They have the same count, so that one task owns everything about
 * a user. Only `location-updates` has a different count; its records are repartitioned first.
 */
const BY_USER = { partitions: 1, productionPartitions: 200 }
const BY_PAIR = { partitions: 1, productionPartitions: 64 }
const BY_CELL = { partitions: 1, productionPartitions: 64 }

/** Swipes and rewinds; key: swiper_id, so that a user's swipes stay in order. */
export const swipeEvents: Topic<string, SwipeEvent> = {
  name: 'swipe-events',
  key: utf8,
  value: avro('matches/SwipeEvent'),
  ...BY_USER,
  config: eventsKept,
}

/**
 * Locations and signs of activity; key: user_id. The locations of deleted users must be erased within an hour, so
 * records are kept for only half an hour. If workers stop for longer than that, the oldest locations that were sent in
 * the meantime are lost.
 */
export const locationUpdates: Topic<string, LocationUpdate> = {
  name: 'location-updates',
  key: utf8,
  value: avro('matches/LocationUpdate'),
  partitions: 1,
  productionPartitions: 50,
  config: erasableKept,
  erases: true,
}

/** Every match, once; key: match_id. */
export const matchEvents: Topic<string, MatchEvent> = {
  name: 'match-events',
  key: utf8,
  value: avro('matches/MatchEvent'),
  ...BY_PAIR,
  config: eventsKept,
}

/** Requests to rebuild a user's stack; key: user_id. Workers skip requests that are older than half a minute. */
export const stackRefillRequests: Topic<string, StackRefillRequest> = {
  name: 'stack-refill-requests',
  key: utf8,
  value: avro('matches/StackRefillRequest'),
  ...BY_USER,
  config: keptFor(DAY_MS, HOUR_MS),
}

/**
 * Requests to create, change or delete a profile; key: user_id. Kept only briefly, because they contain profiles, which
 * users may delete.
 */
export const matchProfileCommands: Topic<string, Command<MatchProfileCommand>> = commandTopic('match-profile-commands', {
  value: avro('matches/MatchProfileCommand'),
  ...BY_USER,
  config: erasableKept,
  erases: true,
})

/** Profiles, and the results of commands about them; key: user_id. */
export const matchProfiles: Topic<string, Decision<MatchProfile>> = decisionTopic('match-profiles', {
  value: avro('matches/MatchProfile'),
  ...BY_USER,
  config: { ...compacted, ...erasable },
  erases: true,
})

/**
 * Changed pages of users' seen-sets, and users' other state; keys: `<user_id>:page-<n>`, `<user_id>:self`,
 * partitioned by user_id.
 */
export const matchSeen: Topic<string, MatchSeen> = {
  name: 'match-seen',
  key: utf8,
  value: avro('matches/MatchSeen'),
  ...BY_USER,
  config: { ...compacted, ...erasable },
  erases: true,
}

/** Each user's relations to others; key: <user_id>:<other_id>, partitioned by user_id. */
export const matchRelations: Topic<string, MatchRelation> = {
  name: 'match-relations',
  key: utf8,
  value: avro('matches/MatchRelation'),
  ...BY_USER,
  config: { ...compacted, ...idsErasable },
  erases: true,
}

/**
 * Users who can be found, partitioned by geohash-4 cell. The key is the whole entry of the candidate index as text:
 * the user's location and attributes (state/views/matches/candidates/index-member.ts). Tombstones contain the key, so
 * they must be erased as well.
 */
export const matchIndex: Topic<string, MatchIndexEntry> = {
  name: 'match-index',
  key: utf8,
  value: avro('matches/MatchIndexEntry'),
  ...BY_CELL,
  config: { ...compacted, ...erasableKeys },
  erases: true,
  erasesKeys: true,
}

/**
 * Deleted profiles; key: user_id. Each record is written to every partition, because a user's pairs may be in any of
 * them.
 */
export const matchDeletions: Topic<string, MatchDeletion> = {
  name: 'match-deletions',
  key: utf8,
  value: avro('matches/MatchDeletion'),
  ...BY_PAIR,
  config: eventsKept,
}

/** Likes, and events that withdraw likes; key: the two ids in sorted order. */
export const pairSwipes: Topic<string, PairSwipe> = {
  name: 'pair-swipes',
  key: utf8,
  value: avro('matches/PairSwipe'),
  ...BY_PAIR,
  config: eventsKept,
}

/** Requests to block, unblock, unmatch or notify; key: the two ids in sorted order. */
export const matchPairCommands: Topic<string, Command<PairCommand>> = commandTopic('match-pair-commands', {
  value: avro('matches/PairCommand'),
  ...BY_PAIR,
  config: commandsKept,
})

/** Results of commands about pairs. Pairs have no view, so each record with the key of a pair is a tombstone. */
export const matchPairDecisions: Topic<string, Decision<PairRow>> = decisionTopic('match-pair-decisions', {
  value: avro('matches/PairRow'),
  ...BY_PAIR,
  config: { ...compacted, ...idsErasable },
  erases: true,
})

/** Push notifications, one per user and match; key: user_id. */
export const matchNotifications: Topic<string, MatchNotification> = {
  name: 'match-notifications',
  key: utf8,
  value: avro('matches/MatchNotification'),
  ...BY_USER,
  config: eventsKept,
}

/** Swipes and rewinds that took effect, for the ClickHouse table; key: swiper_id. */
export const matchSwipes: Topic<string, AcceptedSwipe> = {
  name: 'match-swipes',
  key: utf8,
  value: avro('matches/AcceptedSwipe'),
  ...BY_USER,
  config: eventsKept,
}

export const matchesSchemas: ServiceSchemas = {
  limits: MATCHES_LIMITS,
  topics: [
    swipeEvents,
    locationUpdates,
    matchEvents,
    stackRefillRequests,
    matchProfileCommands,
    matchProfiles,
    matchSeen,
    matchRelations,
    matchIndex,
    matchDeletions,
    pairSwipes,
    matchPairCommands,
    matchPairDecisions,
    matchNotifications,
    matchSwipes,
  ],
}
