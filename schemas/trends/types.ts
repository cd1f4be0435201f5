/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A term that an administrator has blocked, so that no list shows it. Topic trends-blocked-terms, key: the folded term. */
export interface BlockedTerm {
  /** the spelling in which the term was blocked */
  name: string
  reason: string
  /** subject of the administrator's token */
  blocked_by: string
  blocked_at: number
}

/** Data about a region's earlier lists that its next list needs. Value of store `history` of topology `trends`, key: woeid. */
export interface RegionHistory {
  /** end of the first window with terms */
  first_list: number
  /** the last two lists, oldest first; an empty list is left out if all means are already 0 */
  moments: NewTermMoment[]
}

export interface NewTermMoment {
  window_end: number
  /** mean count of the listed terms without baseline; 0: there were none */
  mean: number
}

/** A part of a partition's saved leading terms, from which a worker continues when it starts. Value of store `standings` of topology `trends`, keys: head, region:<woeid>, change:<number> and soon:<hour>:<number>. */
export interface SavedStandings {
  /** change, soon: number of the change. region: number of the first change that the row does not contain. head: number of the oldest stored change */
  number: number
  /** head: newest minute of the window at the last ranking, in minutes since 1970; otherwise 0 */
  minute: number
  /** head: the last hour for which the bounds of terms with a baseline are valid, in hours since 1970; otherwise 0 */
  covered_hour: number
  contenders: SavedContenders[]
  /** soon: keys (<woeid>:<term>) of the terms that will have a baseline from the hour in the row's key on */
  soon_known: string[]
}

export interface SavedContenders {
  woeid: number
  /** true: all `terms` have a baseline; false: none of them has one */
  known: boolean
  /** the term at the floor: the contenders include all terms that rank above it, by value and then by text; empty: there is no floor or, in a change, it has not moved */
  floor_term: string
  floor_value: number
  terms: string[]
}

/** The usual counts of a term in a region, by hour of the week. Value of store `usual` of topology `trends`, key: <woeid>:<term>. */
export interface TermBaseline {
  /** first observed hour, in hours since 1970; every later hour is observed too, even without contributions */
  since_hour: number
  /** newest learned hour with contributions, in hours since 1970; since_hour if there is none */
  seen_hour: number
  /** hours of the week (0 to 167) that ever had contributions */
  hours_of_week: number[]
  /** weighted mean of the counts in the hour of the week at the same position */
  means: number[]
  /** week, counted from 1970, of the newest count in the mean at the same position */
  weeks: number[]
}

/** All that is known of a frequent term in a region. Store trends-frequent-states, key: <woeid>:<term>. */
export interface TermState {
  /** contributions by minute since 1970, of the last two hours and those dated ahead */
  minutes: Buckets
  /** contributions by hour since 1970, of the last 24 whole hours and the current one */
  hours: Buckets
  forms: TermForm[]
  /** the newest tweets of distinct users, newest first (pipelines/trends/samples.ts) */
  samples: Buffer
  /** neighbouring contributions of one user (pipelines/trends/repeats.ts): earlier minute, later minute, count, earlier minute and so on */
  repeats: number[]
  /** tweets that are not among the samples, drawn by hash (pipelines/trends/drawn-tweets.ts) */
  drawn: Buffer
  /** the hour (since 1970) in which it entered the region's top 500, from which on a baseline is kept; 0: never */
  tracked_hour: number
  /** hours up to this one (since 1970) are in the baseline */
  learned_hour: number
  /** the round of volume records in which it changed last */
  volumes_round: number
}

export interface Buckets {
  /** the oldest bucket; what `at` counts from */
  first: number
  /** buckets with contributions, ascending, as distances from the first */
  at: number[]
  /** of the bucket at the same position */
  counts: number[]
}

export interface TermForm {
  form: string
  count: number
}

/** A term that has entered the top 500 of a region, where its baseline now begins. Repartition topic `listed` of topology `trends`, key: the term. */
export interface TermTracked {
  woeid: number
  window_end: number
}

/** The ranked list of one region at one moment. Topics trend-output (every minute) and trend-renewals (the half minutes), key: woeid in decimal. */
export interface TrendOutput {
  woeid: number
  window_end: number
  source: TrendSource
  /** partitions of the pipeline that have not contributed in time; 0: the list is complete */
  missing_partitions: number
  /** best first, at most 500; the rank is the position + 1 */
  entries: TrendEntry[]
}

export type TrendSource = 'pipeline' | 'endpoint'

export interface TrendEntry {
  /** folded form, the identity of the trend */
  term: string
  /** most frequent original */
  name: string
  /** the 60-minute window */
  tweet_volume: number
  volume_24h: number
  /** volume now / volume of the window one hour ago */
  velocity: number
  /** count / baseline for this hour of the week */
  velocity_vs_usual: number
  score: number
  /** Trending or Viral */
  label: null | string
  trending_since: number
  sample_tweets: bigint[]
  /** ranks gained since the first list of the ten minutes before; null: it was not among the 30 served terms, or is not now */
  rank_change: null | number
  /** best rank since trending_since; null: it is not among the 30 served terms */
  peak_rank: null | number
  /** most common language of the newest tweets of up to 20 users, ISO 639 */
  lang: null | string
  /** distinct users in the 60-minute window; null: not known */
  users: null | number
  /** names of the terms that share most of their tweets with this one and have no entries of their own */
  variants: string[]
  /** names of the trends that share most tweets with this one */
  related: string[]
  /** the drawn tweet with the most other listed terms */
  typical_tweet: null | bigint
}

/** Counts of rare terms per minute, so far. Unless adds_as is set, a later row of the same term and minute replaces the earlier one, and its counts are never smaller. All rows of a record are of the same month. Topic trend-rare-volumes, key: the partition of the terms. */
export interface TrendRareVolumes {
  /** empty: the rows replace earlier ones; otherwise an id for these rows, whose counts are added to other rows of the same term and minute */
  adds_as: string
  rows: TrendRareVolume[]
}

export interface TrendRareVolume {
  /** folded form */
  term: string
  /** start of the minute */
  minute: number
  woeids: number[]
  /** counts, each for the region at the same position in `woeids` */
  volumes: number[]
}

/** How often a frequent term was counted in a region in one minute, so far. A later record of the same term, region and minute replaces the earlier one, and its volume is never smaller. Topic trend-volumes, key: <woeid>:<term>. */
export interface TrendVolume {
  woeid: number
  /** folded form */
  term: string
  /** start of the minute */
  minute: number
  volume: number
}

/** Since when the terms of a region's served topics (at most 30) have been trending, and the region's earlier lists. Value of store `since` of topology `trends`, key: woeid. */
export interface TrendingSince {
  terms: TermSince[]
  /** for the current and the previous ten-minute period: the first list that has terms; changes of rank are measured from the list of the previous period */
  earlier: EarlierList[]
}

export interface TermSince {
  term: string
  since: number
  /** when the term left the served topics; 0: it is still in them */
  left_at: number
  /** best rank of the term's topic since then; 0: unknown, because an earlier version of the program stored the term */
  peak_rank: number
}

export interface EarlierList {
  /** number of the ten-minute period, counted from 1970 */
  period: number
  /** leading terms of the served topics, best first */
  terms: string[]
}

/** One tweet event, the input of the trends service. Topic tweets, key: user_id in decimal. */
export interface Tweet {
  tweet_id: bigint
  user_id: bigint
  text: string
  hashtags: string[]
  /** n-grams that were extracted from the text */
  phrases: string[]
  /** ISO 639-1, or a longer tag that begins with a language; empty or und: unknown */
  lang: string
  /** region, resolved from the profile or the IP address; a woeid without a list counts as 1 (worldwide) */
  woeid: number
  /** 0.0 (human) to 1.0 (bot); tweets above 0.7 are not counted */
  bot_score: number
  created_at: number
}

/** Interest profile of a user. Topic user-interests (compacted), key: user_id in decimal. */
export interface UserInterests {
  user_id: bigint
  topic_weights: { [key: string]: number }
  /** muted topics, a set */
  exclude_topics: string[]
  updated_at: number
}

/** The rounds in which a partition publishes the volumes of frequent terms. Value of store `volumes-round` of topology `trends`, key: round. */
export interface VolumesRound {
  /** number of the current round */
  round: number
  /** earlier rounds that a restart interrupted, so that some of their volumes may not be published yet */
  unfinished: number[]
}

declare module '../load.ts' {
  interface RecordTypes {
    'trends/BlockedTerm': BlockedTerm
    'trends/RegionHistory': RegionHistory
    'trends/SavedStandings': SavedStandings
    'trends/TermBaseline': TermBaseline
    'trends/TermState': TermState
    'trends/TermTracked': TermTracked
    'trends/TrendOutput': TrendOutput
    'trends/TrendRareVolumes': TrendRareVolumes
    'trends/TrendVolume': TrendVolume
    'trends/TrendingSince': TrendingSince
    'trends/Tweet': Tweet
    'trends/UserInterests': UserInterests
    'trends/VolumesRound': VolumesRound
  }
}
