/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** Items that editors place, or a rule that raises scores. Topic editorial-lists, key: the name of the list. */
export interface EditorialList {
  kind: EditorialKind
  /** items of a LIST, best first */
  item_ids: bigint[]
  /** where a LIST is shown; empty: everywhere */
  contexts: string[]
  /** NEW_RELEASE_BOOST: factor by which scores are multiplied */
  factor: null | number
  /** NEW_RELEASE_BOOST: age below which an item counts as new */
  max_age_days: null | number
  starts_at: null | number
  ends_at: null | number
  updated_at: number
}

export type EditorialKind = 'LIST' | 'NEW_RELEASE_BOOST'

/** What a user did with an item. Topic interactions, key: user_id. */
export interface Interaction {
  /** a record that comes twice within a day counts once */
  event_id: string
  item_id: bigint
  event_type: InteractionType
  /** true: reverts an earlier NOT_INTERESTED */
  withdrawn: boolean
  /** when it happened, by the clock of the client */
  timestamp: number
  page: null | string
  /** place of the item on the page, from 0 */
  position: null | number
  /** id of the request whose answer contained the item */
  rec_request_id: null | string
  device: null | string
  session_id: null | string
  dwell_time_sec: null | number
  /** 1 to 5 */
  rating: null | number
  /** 0 to 1 */
  watch_pct: null | number
}

export type InteractionType = 'VIEW' | 'CLICK' | 'PURCHASE' | 'RATE' | 'SKIP' | 'DWELL' | 'NOT_INTERESTED'

/** What the users of one partition did with an item between two commits. Topic item-events, key: item_id. */
export interface ItemActivity {
  events: ItemEvent[]
  /** items that users viewed shortly before or after this one */
  near: NearItem[]
  /** when the item entered the last ten views of a user */
  entered: number[]
  /** when an answer contained the item */
  shown: number[]
}

export interface ItemEvent {
  event_type: ItemEventType
  at: number
  /** see events/weights.ts */
  weight: number
  /** the interaction followed an answer that contained the item */
  is_chosen: boolean
  rating: null | number
  country: null | string
  age_bucket: null | string
}

export type ItemEventType = 'VIEW' | 'CLICK' | 'PURCHASE' | 'RATE' | 'SKIP' | 'DWELL' | 'NOT_INTERESTED'

export interface NearItem {
  item_id: bigint
  closeness: number
  at: number
}

/** The neighbours that the topology item-signals keeps of an item. */
export interface ItemNeighbourhood {
  /** weights are those of this time */
  reference_at: number
  /** see pipelines/recommendations/signals/kept-neighbours.ts */
  neighbours: Buffer
  /** sum of all weights ever added, as of reference_at */
  total: number
  /** the part of total that was added since the last record in item-neighbours */
  unpublished: number
}

/** The nearest items by views. Topic item-neighbours, key: item_id. */
export interface ItemNeighbours {
  at: number
  /** packed item ids and weights, greatest first: see signals/packed-neighbours.ts */
  neighbours: Buffer
}

/** What the topology item-signals keeps of an item. Counts decay, and are as of `at`. */
export interface ItemSignals {
  at: number
  popularity: number
  entered: number
  recent: number
  shown: number
  chosen: number
  events: number
  views: number
  clicks: number
  purchases: number
  ratings: number
  rating_sum: number
  skips: number
  interactions: number
  /** interactions and impressions since the last record in item-stats */
  unpublished: number
  /** interactions and impressions ever */
  total: number
  /** `at` of the last record in item-stats */
  published_at: number
}

/** The statistics of an item for the APIs. Counts are as of `at` and decay after that. Topic item-stats, key: item_id. */
export interface ItemStats {
  at: number
  /** half-life 30 days */
  popularity: number
  /** how often the item entered the last ten views of a user; half-life 30 days */
  entered: number
  /** half-life 6 hours */
  recent: number
  /** half-life 7 days, like all following counts except interactions */
  shown: number
  chosen: number
  events: number
  purchases: number
  ratings: number
  rating_sum: number
  /** ever */
  interactions: number
}

/** The trained models, and which of them answer requests. Topic recommendation-models, under a single key, so that every change is one record. */
export interface ModelHistory {
  /** newest first */
  versions: ModelVersion[]
  /** the version in force; null: lists are ranked by rules */
  champion: null | string
  /** the version that answers a share of the users */
  challenger: null | string
  /** percentage of the users that the challenger answers, 0 to 50 */
  challenger_percent: number
  /** earlier champions, newest first; an empty text stands for the rules */
  earlier: string[]
  changed_at: number
}

export interface ModelVersion {
  /** time and hash of the bundle */
  version: string
  /** embedding_version, from 1 */
  sequence: number
  trained_at: number
  /** the model has learned only from interactions before this time */
  learned_until: number
  files: ModelFile[]
  metrics: { [key: string]: number }
}

export interface ModelFile {
  name: string
  /** SHA-256 in hexadecimal digits */
  hash: string
  bytes: number
}

/** Asks the one process that owns the models to train, or to change which model answers. Topic recommendation-model-requests. */
export interface ModelRequest {
  request_id: string
  action: ModelAction
  /** PROMOTE: the version to promote. CHALLENGE: the version to try, or null to end the trial. ROLL_BACK: the version that the caller believes to be in force */
  version: null | string
  /** CHALLENGE: share of the users in percent, 0 to 50 */
  percent: number
  requested_by: string
  requested_at: number
}

export type ModelAction = 'TRAIN' | 'PROMOTE' | 'CHALLENGE' | 'ROLL_BACK'

/** The state and result of a training run. Topic recommendation-model-runs, key: run_id. A later record of a run replaces an earlier one. */
export interface ModelRun {
  run_id: string
  /** ids of the requests for this run; empty: the run was due by schedule */
  request_ids: string[]
  state: ModelRunState
  /** why the model is refused, the run was skipped or has failed, or the model went into force without a comparison */
  reason: string
  version: null | string
  /** the version in force at the start, with which the model is compared; null: the rules */
  compared_with: null | string
  started_at: number
  ended_at: null | number
  learned_until: null | number
  metrics: { [key: string]: number }
}

export type ModelRunState = 'RUNNING' | 'IN_FORCE' | 'REFUSED' | 'SKIPPED' | 'FAILED'

/** An item that can be recommended. Topic items, key: item_id. */
export interface RecommendationItem {
  title: string
  description: string
  /** names from the root, separated by / */
  category_path: string
  attributes: { [key: string]: string }
  /** 0 to 1, given by the producer; stands in for statistics while the item is new */
  popularity: number
  thumbnail_url: null | string
  status: RecommendationItemStatus
  created_at: number
  /** of two records, the one with the later time counts */
  updated_at: number
}

export type RecommendationItemStatus = 'ACTIVE' | 'INACTIVE'

/** What is known about a user apart from the interactions. Topic recommendation-users, key: user_id. */
export interface RecommendationUser {
  country: null | string
  language: null | string
  age_bucket: null | string
  /** ISO 8601 date */
  signup_date: null | string
  sub_tier: null | SubscriptionTier
  /** of two records, the one with the later time counts */
  updated_at: number
}

export type SubscriptionTier = 'free' | 'basic' | 'premium'

/** A page of a list. Topic recommendations-served, key: user_id. */
export interface ServedRecommendations {
  request_id: string
  model_version: string
  context: string
  /** the type that the request asked for; empty for later pages */
  rec_type: string
  served_at: number
  degraded: string[]
  /** offset in interactions of the newest event behind the features; -1: none */
  features_offset: number
  items: ServedItem[]
}

export interface ServedItem {
  item_id: bigint
  position: number
  channel: string
  rec_type: string
  /** as the ranker gave it */
  score: number
  source_item_id: null | bigint
  /** a row of ranking features; null on later pages, and for lists whose features are not kept */
  features: null | number[]
}

/** What happened to an item between two commits, by group of users. Repartition topic of item-signals, key: the group. */
export interface TrendEvents {
  item_id: bigint
  at: number
  /** as of `at` */
  weight: number
  /** as of `at` */
  events: number
}

/** The items that a group of users is most interested in. Topic trending-items, key: all, country:<code> or age:<bucket>. */
export interface TrendingItems {
  at: number
  /** events of the group, with a half-life of 6 hours, as of `at` */
  events: number
  /** best first */
  item_ids: bigint[]
}

/** The data about a user that the API needs, or a page of the user's set of watched items. Topic user-features, keys: <user_id>:self and <user_id>:page-<n>, partitioned by user_id. */
export interface UserFeatures {
  /** the page; null in a record of the user */
  page: null | Buffer
  /** null in a record of a page */
  self: null | UserSelf
}

export interface UserSelf {
  /** offset in interactions of the newest event that is included; -1: none */
  through_offset: number
  interactions: number
  last_event_at: null | number
  session_started_at: null | number
  /** packed items, see events/packed-items.ts */
  viewed: Buffer
  /** packed items */
  session: Buffer
  /** packed interactions, see events/packed-history.ts */
  history: Buffer
  /** packed items */
  hidden: Buffer
  /** packed items */
  shown: Buffer
  country: null | string
  language: null | string
  age_bucket: null | string
  sub_tier: null | string
  preferences: StatedPreference[]
  /** updated_at of the record with the properties of the user */
  user_updated_at: null | number
  /** updated_at of the record with the preferences of the user */
  preferences_updated_at: null | number
}

export interface StatedPreference {
  category: string
  value: string
  weight: number
}

/** The stated preferences of a user. Topic user-preferences, key: user_id. */
export interface UserPreferences {
  preferences: Preference[]
  /** of two records, the one with the later time counts */
  updated_at: number
}

export interface Preference {
  /** genre, category, or the name of an attribute */
  category: string
  value: string
  /** -1 to 1 */
  weight: number
}

/** What the topology user-features keeps of a user. */
export interface UserState {
  through_offset: number
  interactions: number
  last_event_at: null | number
  session_started_at: null | number
  session_last_at: null | number
  viewed: Buffer
  session: Buffer
  history: Buffer
  hidden: Buffer
  shown: Buffer
  country: null | string
  language: null | string
  age_bucket: null | string
  sub_tier: null | string
  user_updated_at: null | number
  preferences: KeptPreference[]
  preferences_updated_at: null | number
}

export interface KeptPreference {
  category: string
  value: string
  weight: number
}

declare module '../load.ts' {
  interface RecordTypes {
    'recommendations/EditorialList': EditorialList
    'recommendations/Interaction': Interaction
    'recommendations/ItemActivity': ItemActivity
    'recommendations/ItemNeighbourhood': ItemNeighbourhood
    'recommendations/ItemNeighbours': ItemNeighbours
    'recommendations/ItemSignals': ItemSignals
    'recommendations/ItemStats': ItemStats
    'recommendations/ModelHistory': ModelHistory
    'recommendations/ModelRequest': ModelRequest
    'recommendations/ModelRun': ModelRun
    'recommendations/RecommendationItem': RecommendationItem
    'recommendations/RecommendationUser': RecommendationUser
    'recommendations/ServedRecommendations': ServedRecommendations
    'recommendations/TrendEvents': TrendEvents
    'recommendations/TrendingItems': TrendingItems
    'recommendations/UserFeatures': UserFeatures
    'recommendations/UserPreferences': UserPreferences
    'recommendations/UserState': UserState
  }
}
