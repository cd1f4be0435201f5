/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A swipe or rewind that takes effect. Topic match-swipes, key: swiper_id. */
export interface AcceptedSwipe {
  swipe_id: string
  swiper_id: string
  target_id: string
  /** LEFT, RIGHT, SUPER_LIKE or REWIND */
  direction: string
  ts: number
  duration_ms: null | number
  position: null | number
}

/** A swipe that changes its target's score. Repartition topic `scored` of topology `match-users`, key: target_id. */
export interface DesirabilitySwipe {
  swiper_elo: number
  direction: DesirabilityDirection
  ts: number
}

export type DesirabilityDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

/** The location of a user, or a sign that the user is active. Topic `location-updates` and repartition topic `located` of topology `match-users`, key: user_id. */
export interface LocationUpdate {
  /** lower-case UUID */
  user_id: string
  /** degrees; null: the user was active, but sent no location */
  lat: null | number
  /** degrees */
  lon: null | number
  accuracy_m: null | number
  ts: number
}

/** The deletion of a user's profile. Topic match-deletions, key: user_id; each record is written to every partition. */
export interface MatchDeletion {
  user_id: string
  deleted_at: number
}

/** Two users like each other. Topic match-events, key: match_id. */
export interface MatchEvent {
  /** UUIDv5 of the pair */
  match_id: string
  /** the smaller of the two ids, as text */
  user_a: string
  user_b: string
  conversation_id: null | string
  /** ts of the later swipe */
  matched_at: number
}

/** A user whom searches can find. Topic match-index, partitioned by geohash-4 cell; key: the user's entry in the candidate index as text, which contains the user's location and attributes. */
export interface MatchIndexEntry {
  user_id: string
}

/** A push notification for one user of a match. Topic match-notifications, key: user_id. */
export interface MatchNotification {
  match_id: string
  /** who gets the push */
  user_id: string
  other_id: string
  conversation_id: null | string
  matched_at: number
}

/** What a user says about themselves. Value of store `profiles` of topology `match-profiles` and view of topic `match-profiles`, key: user_id. After a deletion, only user_id, updated_at and deleted_at have a meaning. */
export interface MatchProfile {
  /** lower-case UUID */
  user_id: string
  display_name: string
  /** ISO 8601 date */
  birth_date: string
  gender: null | string
  /** empty: everybody */
  seeking_gender: string[]
  bio: null | string
  min_age_pref: number
  max_age_pref: number
  max_dist_km: number
  is_active: boolean
  photo_urls: string[]
  created_at: number
  updated_at: number
  /** when the profile was deleted; swipes and locations of the user up to this time no longer count. null: not deleted */
  deleted_at: null | number
}

/** A request to create, change or delete a profile. Body of topic match-profile-commands, key: user_id. */
export interface MatchProfileCommand {
  action: MatchProfileAction
  /** names of the fields below that the request sets; put: all other fields get their defaults */
  sets: string[]
  display_name: null | string
  /** ISO 8601 date */
  birth_date: null | string
  gender: null | string
  seeking_gender: string[]
  bio: null | string
  min_age_pref: null | number
  max_age_pref: null | number
  max_dist_km: null | number
  is_active: null | boolean
  photo_urls: string[]
  /** delete: earliest time of the deletion, which is the time of the user's newest known swipe, location or block; 0: none is known */
  not_before: number
}

export type MatchProfileAction = 'put' | 'patch' | 'delete'

/** The relation of one user (user_id) to another. Topic match-relations, key: <user_id>:<other_id>, partitioned by user_id. */
export interface MatchRelation {
  user_id: string
  other_id: string
  /** when the other user liked this one; null: there is no such like, or the two have or had a match */
  liked_at: null | number
  is_super_like: boolean
  match_id: null | string
  conversation_id: null | string
  matched_at: null | number
  /** true: the match has ended permanently */
  has_ended: boolean
  /** true: this user blocks the other one */
  blocks: boolean
  /** true: the other user blocks this one */
  is_blocked: boolean
  /** when this user blocked the other one; null: no block by this user */
  blocked_at: null | number
  /** set when the other user's block ends: the API's notes about blocks by the other user up to this time no longer apply; otherwise null */
  unblocked_until: null | number
  /** set when a deletion removes a match that has ended: the API's notes about the end of this match up to this time no longer apply; otherwise null */
  reopened_until: null | number
  /** set when this user's block ends: the API's notes about blocks by this user up to this time no longer apply; otherwise null */
  released_until: null | number
  changed_at: number
}

/** A page of a user's seen-set, or other state of the user. Topic match-seen, keys: <user_id>:page-<n> and <user_id>:self, partitioned by user_id. */
export interface MatchSeen {
  /** the page; null in a record with self */
  page: null | Buffer
  /** in a record with self: the swipes that were processed since the user's previous record with self; this record and the user's earlier records reflect these swipes and all older swipes on the same targets. Empty in a record of a page */
  swipes: IncludedSwipe[]
  /** null in a record of a page */
  self: null | MatchSelf
}

export interface IncludedSwipe {
  target_id: string
  swipe_id: string
  ts: number
}

export interface MatchSelf {
  elo_score: number
  lat: null | number
  lon: null | number
  location_updated_at: null | number
  last_active_at: number
  /** rewound targets: the pages hold them, but they do not count as seen */
  exceptions: string[]
  last_swipe: null | LastSwipe
}

export interface LastSwipe {
  swipe_id: string
  target_id: string
  /** LEFT, RIGHT, SUPER_LIKE or REWIND */
  direction: string
  ts: number
}

/** The state of a user. Value of store `users` of topology `match-users`, key: user_id. */
export interface MatchUser {
  /** false: the profile has not arrived yet or was deleted */
  has_profile: boolean
  birth_date: string
  gender: null | string
  seeking_gender: string[]
  min_age_pref: number
  max_age_pref: number
  completeness: number
  is_active: boolean
  /** when the user last deleted a profile; swipes and locations of the user up to this time no longer count. null: never */
  deleted_at: null | number
  elo_score: number
  lat: null | number
  lon: null | number
  location_updated_at: null | number
  last_active_at: number
  /** the user's entry in the candidate index: the key in topic match-index and the member of the sorted set in Redis; null: the user is not in the index */
  index_key: null | string
  /** targets of the swipes that the user has taken back, oldest first. They are in the seen-set, but do not count as seen */
  exceptions: RewoundTarget[]
  last_swipe: null | NewestSwipe
}

export interface RewoundTarget {
  target_id: string
  rewound_at: number
}

export interface NewestSwipe {
  swipe_id: string
  target_id: string
  direction: string
  ts: number
}

/** A request about two users. Body of topic match-pair-commands, key: the ids of the two users in sorted order. */
export interface PairCommand {
  action: PairAction
  /** the user who asks; notify: either user of the match */
  actor_id: string
  other_id: string
  /** unmatch, notify */
  match_id: null | string
  /** notify */
  matched_at: null | number
  /** block, unblock: earliest time of the change, which is 1 ms after the actor's profile was created; 0: the API found no profile or could not read it */
  not_before: number
}

export type PairAction = 'block' | 'unblock' | 'unmatch' | 'notify'

/** The state of two users. Value of store `pairs` of topology `match-pairs`, key: the two user ids, lower id first, as <a>:<b>. */
export interface PairRow {
  a: PairSide
  b: PairSide
  /** swipes before this time do not count, because a block began or ended then, or a profile was deleted; 0: all swipes count */
  counts_from: number
  match_id: null | string
  matched_at: null | number
  /** when the match ended, which is permanent; null: it has not ended */
  ended_at: null | number
}

/** What one user of a pair did. */
export interface PairSide {
  /** direction of the newest swipe; null: there is no swipe that still counts */
  direction: null | PairDirection
  swipe_id: string
  swiped_at: number
  /** true: this user blocks the other one */
  blocks: boolean
  /** when the block began; 0: there is no block, or an earlier version of the program stored the block */
  blocked_at: number
  was_notified: boolean
}

export type PairDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** A like, or an event that withdraws one. Topic pair-swipes, key: the ids of the two users in sorted order. */
export interface PairSwipe {
  swipe_id: string
  swiper_id: string
  target_id: string
  direction: PairSwipeDirection
  ts: number
}

export type PairSwipeDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** A user whose profile was deleted. Value of store `deleted` of topology `match-pairs`, key: user_id. Every partition has a row for each of these users until 8 days after the deletion. */
export interface PairUser {
  /** when the profile was deleted; swipes by or on the user up to this time no longer count */
  deleted_at: number
}

/** A request to rebuild a user's stack. Topic stack-refill-requests, key: user_id. */
export interface StackRefillRequest {
  user_id: string
  ts: number
}

/** A user's swipe on another user, or a rewind. Topic `swipe-events`, key: swiper_id. While the swiper has no profile, also value of store `waiting` of topology `match-users`, key: <swiper_id>:<swipe_id>. */
export interface SwipeEvent {
  /** lower-case UUID; a swipe that arrives twice counts once */
  swipe_id: string
  /** lower-case UUID */
  swiper_id: string
  /** lower-case UUID */
  target_id: string
  /** REWIND takes back the swiper's last swipe, which was on this target */
  direction: SwipeEventDirection
  /** when the API accepted the swipe, by the API's clock; if the API has the swiper's previous swipe, always later than that swipe. Of two swipes on the same target, the later one counts */
  ts: number
  duration_ms: null | number
  position: null | number
}

export type SwipeEventDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** The newest swipe or rewind by a user on a target. Value of store `swipes` of topology `match-users`, key: <swiper_id>:<target_id>. */
export interface SwipeRow {
  swipe_id: string
  direction: SwipeRowDirection
  ts: number
  /** the direction that last changed the target's score; null: none */
  scored_direction: null | ScoredDirection
  /** ids of up to 20 swipes and rewinds before this one, oldest first. A late repetition of one of these requests is ignored */
  earlier_ids: string[]
}

export type SwipeRowDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

export type ScoredDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

declare module '../load.ts' {
  interface RecordTypes {
    'matches/AcceptedSwipe': AcceptedSwipe
    'matches/DesirabilitySwipe': DesirabilitySwipe
    'matches/LocationUpdate': LocationUpdate
    'matches/MatchDeletion': MatchDeletion
    'matches/MatchEvent': MatchEvent
    'matches/MatchIndexEntry': MatchIndexEntry
    'matches/MatchNotification': MatchNotification
    'matches/MatchProfile': MatchProfile
    'matches/MatchProfileCommand': MatchProfileCommand
    'matches/MatchRelation': MatchRelation
    'matches/MatchSeen': MatchSeen
    'matches/MatchUser': MatchUser
    'matches/PairCommand': PairCommand
    'matches/PairRow': PairRow
    'matches/PairSwipe': PairSwipe
    'matches/PairUser': PairUser
    'matches/StackRefillRequest': StackRefillRequest
    'matches/SwipeEvent': SwipeEvent
    'matches/SwipeRow': SwipeRow
  }
}
