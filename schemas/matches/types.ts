/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A swipe that counts. Topic match-swipes, key: swiper_id. */
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

/** A swipe that changes its target's score. Repartition topic scored, key: target_id. */
export interface DesirabilitySwipe {
  swiper_elo: number
  direction: DesirabilityDirection
  ts: number
}

export type DesirabilityDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

/** Where a user is. Topic location-updates, key: user_id. */
export interface LocationUpdate {
  /** lower-case UUID */
  user_id: string
  /** degrees; null: the user was active, but sent no place */
  lat: null | number
  /** degrees */
  lon: null | number
  accuracy_m: null | number
  ts: number
}

/** A user deleted their profile. Topic match-deletions, key: user_id, in every partition. */
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

/** A user who can be found in a cell. Topic match-index, partitioned by geohash-4 cell; key: the user's entry in the candidate index, as text with place and attributes. */
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

/** What a user says about themselves. Store match-profiles-profiles and view of topic match-profiles, key: user_id. After a deletion, only user_id and deleted_at have values. */
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
  /** older swipes, likes and places of the user no longer count */
  deleted_at: null | number
}

/** A request that the partition of a user decides. Body of topic match-profile-commands, key: user_id. */
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
  /** delete: lower bound for the time of the deletion: the time of the user's newest known event; 0: not known */
  not_before: number
}

export type MatchProfileAction = 'put' | 'patch' | 'delete'

/** How one user is related to another. Topic match-relations, key: <user_id>:<other_id>, partitioned by user_id. */
export interface MatchRelation {
  user_id: string
  other_id: string
  /** when the other user liked this one; null: there is no such like, or the two have a match */
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
  /** when this user blocked the other one */
  blocked_at: null | number
  /** blocks by the other user up to this time no longer apply */
  unblocked_until: null | number
  /** the match was removed by a deletion, so records up to this time that end it no longer apply */
  reopened_until: null | number
  /** blocks by this user up to this time no longer apply */
  released_until: null | number
  changed_at: number
}

/** A page of a user's seen-set, or the other state of the user. Topic match-seen, keys: <user_id>:page-<n> and <user_id>:self, partitioned by user_id. */
export interface MatchSeen {
  /** the page; null in a record of the user */
  page: null | Buffer
  /** swipes that this record and earlier ones include; they also include all older swipes on the same targets */
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

/** What the topology match-users keeps of a user. Store match-users-users, key: user_id. */
export interface MatchUser {
  /** false: swipes or places came before the profile, or it was deleted */
  has_profile: boolean
  birth_date: string
  gender: null | string
  seeking_gender: string[]
  min_age_pref: number
  max_age_pref: number
  completeness: number
  is_active: boolean
  /** earlier swipes and places of the user no longer count */
  deleted_at: null | number
  elo_score: number
  lat: null | number
  lon: null | number
  location_updated_at: null | number
  last_active_at: number
  /** the user's entry in the candidate index: the key in topic match-index and the member of the sorted set in Redis; null: the user is not in the index */
  index_key: null | string
  /** targets in the seen-set that were taken back, oldest first */
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

/** A request that the partition of a pair decides. Body of topic match-pair-commands, key: the ordered pair of users. */
export interface PairCommand {
  action: PairAction
  /** the user who asks; notify: either user of the match */
  actor_id: string
  other_id: string
  /** unmatch, notify */
  match_id: null | string
  /** notify */
  matched_at: null | number
  /** block, unblock: lower bound for the time of the change, after the creation of the actor's profile; 0: not known */
  not_before: number
}

export type PairAction = 'block' | 'unblock' | 'unmatch' | 'notify'

/** What the topology match-pairs keeps of two users. Store match-pairs-pairs, key: the ordered pair of users. */
export interface PairRow {
  a: PairSide
  b: PairSide
  /** swipes before this time do not count, because a block was lifted or a profile was deleted */
  counts_from: number
  match_id: null | string
  matched_at: null | number
  /** when the match ended permanently */
  ended_at: null | number
}

/** What one user of a pair did. */
export interface PairSide {
  /** direction of the newest swipe; null: no swipe */
  direction: null | PairDirection
  swipe_id: string
  swiped_at: number
  /** true: this user blocks the other one */
  blocks: boolean
  /** when the block began; 0 if there is no block, or if an earlier version of the program stored it */
  blocked_at: number
  was_notified: boolean
}

export type PairDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** A like, or an event that withdraws one. Topic pair-swipes, key: the ordered pair of users. */
export interface PairSwipe {
  swipe_id: string
  swiper_id: string
  target_id: string
  direction: PairSwipeDirection
  ts: number
}

export type PairSwipeDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** A deleted user, in every partition of the pairs. Store match-pairs-deleted, key: user_id. */
export interface PairUser {
  /** older swipes of the user no longer count */
  deleted_at: number
}

/** A request to rebuild a user's stack. Topic stack-refill-requests, key: user_id. */
export interface StackRefillRequest {
  user_id: string
  ts: number
}

/** What a user did with a profile. Topic swipe-events, key: swiper_id. */
export interface SwipeEvent {
  /** UUID; a record that comes twice counts once */
  swipe_id: string
  /** lower-case UUID */
  swiper_id: string
  /** lower-case UUID */
  target_id: string
  /** REWIND takes back the swiper's last swipe, of this target */
  direction: SwipeEventDirection
  /** by the clock of the API; of two swipes of a pair the newer one counts */
  ts: number
  duration_ms: null | number
  position: null | number
}

export type SwipeEventDirection = 'LEFT' | 'RIGHT' | 'SUPER_LIKE' | 'REWIND'

/** The newest swipe of a pair. Store match-users-swipes, key: <swiper_id>:<target_id>. */
export interface SwipeRow {
  swipe_id: string
  direction: SwipeRowDirection
  ts: number
  /** the direction that last changed the target's score */
  scored_direction: null | ScoredDirection
  /** earlier swipes and rewinds of the pair, oldest first, so that a request that is repeated late does not count again */
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
