/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** Items that editors place in lists, or the rule that raises the scores of new items. Topic editorial-lists, key: the name of the list; new-releases for the rule. */
export interface EditorialList {
  kind: EditorialKind
  /** items of a LIST, best first */
  item_ids: bigint[]
  /** where a LIST is shown; empty: everywhere */
  contexts: string[]
  /** NEW_RELEASE_BOOST: factor by which the scores of new items are multiplied; null: 1.1 */
  factor: null | number
  /** NEW_RELEASE_BOOST: age below which an item counts as new; null: 30 */
  max_age_days: null | number
  starts_at: null | number
  ends_at: null | number
  updated_at: number
}

export type EditorialKind = 'LIST' | 'NEW_RELEASE_BOOST'

/** What a user did with an item. Topic interactions, key: user_id. */
export interface Interaction {
  /** of a user's events with the same id within a day, only the first counts */
  event_id: string
  item_id: bigint
  event_type: InteractionType
  /** true: reverts an earlier NOT_INTERESTED */
  withdrawn: boolean
  /** when the event happened, by the client's clock; if the client gives no time, by the clock of the API */
  timestamp: number
  page: null | string
  /** place of the item on the page, from 0 */
  position: null | number
  /** request_id of the list that contained the item */
  rec_request_id: null | string
  device: null | string
  session_id: null | string
  dwell_time_sec: null | number
  /** 1 to 5 */
  rating: null | number
  /** share of the item that was watched, 0 to 1 */
  watch_pct: null | number
}

export type InteractionType = 'VIEW' | 'CLICK' | 'PURCHASE' | 'RATE' | 'SKIP' | 'DWELL' | 'NOT_INTERESTED'

/** What the users of one partition did with an item between two commits. Topic `item-events`, key: item_id. While the item is unknown, also value of store `parked` of topology `item-signals`, key: item_id. */
export interface ItemActivity {
  events: ItemEvent[]
  /** other items that were among a user's last ten views together with this item, noted when one of the two entered these views */
  near: NearItem[]
  /** times at which the item entered the last ten views of a user */
  entered: number[]
  /** times at which an answer contained the item */
  shown: number[]
}

export interface ItemEvent {
  event_type: ItemEventType
  at: number
  /** weight of the event as a sign of the user's interest: schemas/recommendations/events/weights.ts */
  weight: number
  /** true: the user chose the item from a list that the user was shown */
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

/** The neighbours of an item. Value of store `neighbours` of topology `item-signals`, key: item_id. */
export interface ItemNeighbourhood {
  /** time to which all weights refer */
  reference_at: number
  /** see pipelines/recommendations/signals/kept-neighbours.ts */
  neighbours: Buffer
  /** sum of all weights ever added, as of reference_at */
  total: number
  /** the part of total that was added since the last record in item-neighbours */
  unpublished: number
}

/** The items that users most often view shortly before or after an item. Topic item-neighbours, key: item_id. */
export interface ItemNeighbours {
  at: number
  /** packed ids and weights of at most 50 items, greatest weight first: schemas/recommendations/signals/packed-neighbours.ts */
  neighbours: Buffer
}

/** The counts of an item. Counts of type double are decayed to the time `at`. Value of store `signals` of topology `item-signals`, key: item_id. */
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
  /** `at` of the last record in item-stats; 0: there is none */
  published_at: number
}

/** The statistics of an item for the APIs. All fields except `at` and `interactions` are decayed to the time `at`. Topic item-stats, key: item_id. */
export interface ItemStats {
  at: number
  /** number of events except SKIP; half-life 30 days */
  popularity: number
  /** how often the item entered the last ten views of a user; half-life 30 days */
  entered: number
  /** like popularity, but with a half-life of 6 hours */
  recent: number
  /** how often an answer contained the item; half-life 7 days, like all following fields except interactions */
  shown: number
  chosen: number
  events: number
  purchases: number
  ratings: number
  rating_sum: number
  /** number of all events so far, without decay */
  interactions: number
}

/** The trained models, and which of them answer requests. Topic recommendation-models, key: models. */
export interface ModelHistory {
  /** newest first */
  versions: ModelVersion[]
  /** the version in force; null: lists are ranked by rules */
  champion: null | string
  /** the version that answers the requests of a share of the users; null: none */
  challenger: null | string
  /** percentage of the users whose requests the challenger answers, 0 to 50 */
  challenger_percent: number
  /** earlier champions, newest first; an empty string: lists were ranked by rules */
  earlier: string[]
  changed_at: number
}

export interface ModelVersion {
  /** time and hash of the bundle */
  version: string
  /** number of the version, from 1; the API calls it embedding_version */
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

/** A request to train a model, or to change which model answers requests. The owner of the only partition carries it out. Topic recommendation-model-requests, key: models. */
export interface ModelRequest {
  request_id: string
  action: ModelAction
  /** PROMOTE: the version to promote. CHALLENGE: the version to try, or null to end the trial. ROLL_BACK: the champion when the request was sent; null: the current champion. TRAIN: null */
  version: null | string
  /** CHALLENGE: share of the users in percent, 0 to 50; otherwise 0 */
  percent: number
  requested_by: string
  requested_at: number
}

export type ModelAction = 'TRAIN' | 'PROMOTE' | 'CHALLENGE' | 'ROLL_BACK'

/** The state and result of a training run. Topic recommendation-model-runs, key: run_id. A later record of a run replaces an earlier one. */
export interface ModelRun {
  run_id: string
  /** ids of the requests for this run; empty: nobody requested it */
  request_ids: string[]
  state: ModelRunState
  /** why the model was refused, why the run was skipped or failed, or why the model went into force without a comparison; otherwise empty */
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
  /** 0 to 1, given by the producer. Supplements the item's statistics until the item has 500 interactions */
  popularity: number
  thumbnail_url: null | string
  status: RecommendationItemStatus
  created_at: number
  /** of two records, the one with the later time counts */
  updated_at: number
}

export type RecommendationItemStatus = 'ACTIVE' | 'INACTIVE'

/** Properties of a user, such as country and age group. Topic recommendation-users, key: user_id. */
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

/** A page of a list that a user received. Topic recommendations-served, key: user_id. */
export interface ServedRecommendations {
  request_id: string
  model_version: string
  context: string
  /** type of the list that the request named, or the default for the context; empty for later pages */
  rec_type: string
  served_at: number
  degraded: string[]
  /** offset, in topic interactions, of the newest event that the user's features include; -1: none */
  features_offset: number
  items: ServedItem[]
}

export interface ServedItem {
  item_id: bigint
  position: number
  channel: string
  rec_type: string
  /** score of the ranker, without the boost for new items */
  score: number
  source_item_id: null | bigint
  /** ranking features, in the order of schemas/recommendations/ranking/ranking-features.ts; null on later pages, and in lists whose features are not recorded */
  features: null | number[]
}

/** The events with a positive weight of one item and one group of users between two commits. Repartition topic `trends` of topology `item-signals`, key: the group, as in TrendingItems. */
export interface TrendEvents {
  item_id: bigint
  at: number
  /** sum of the weights of the events, decayed to `at` */
  weight: number
  /** number of the events, decayed to `at` */
  events: number
}

/** The items that a group of users is most interested in. Topic trending-items, key: all, country:<code> or age:<bucket>. */
export interface TrendingItems {
  at: number
  /** number of the group's events with a positive weight, decayed to the time `at` with a half-life of 6 hours */
  events: number
  /** best first */
  item_ids: bigint[]
}

/** The data about a user that the API needs, or a page of the user's set of watched items. Topic user-features, keys: <user_id>:self and <user_id>:page-<n>, partitioned by user_id. */
export interface UserFeatures {
  /** the page; null in a record with self */
  page: null | Buffer
  /** null in a record of a page */
  self: null | UserSelf
}

export interface UserSelf {
  /** offset, in topic interactions, of the newest event that is included; -1: none */
  through_offset: number
  interactions: number
  last_event_at: null | number
  session_started_at: null | number
  /** the last 10 viewed items, packed: events/packed-items.ts */
  viewed: Buffer
  /** the items of the current session, packed like viewed */
  session: Buffer
  /** the last 100 interactions, packed: events/packed-history.ts */
  history: Buffer
  /** items that the user does not want to see, packed like viewed */
  hidden: Buffer
  /** items of the user's last lists, except items that the user chose, packed like viewed */
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

/** The state of a user. Value of store `users` of topology `user-features`, key: user_id. Fields that are also in UserSelf have the same meaning. */
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
