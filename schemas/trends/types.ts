/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A term that an administrator has blocked, so that no list shows it. Topic trends-blocked-terms, key: the folded term. */
export interface BlockedTerm {
  /** the spelling in which it was blocked */
  name: string
  reason: string
  /** subject of the administrator's token */
  blocked_by: string
  blocked_at: number
}

/** What a region's list needs to know about earlier lists. Store trends-history, key: woeid. */
export interface RegionHistory {
  /** end of the first window with terms */
  first_list: number
  /** the last lists, oldest first */
  moments: NewTermMoment[]
}

export interface NewTermMoment {
  window_end: number
  /** mean count of the listed terms without baseline; 0: there were none */
  mean: number
}

/** A part of the leading terms of all regions in one partition. A worker that starts continues from these records. Store trends-standings. */
export interface SavedStandings {
  /** number of the change; in a record about a region, the number of the first change that the record does not contain; in the record head, the number of the oldest stored change */
  number: number
  /** newest bucket of the last ranking, minutes since 1970 */
  minute: number
  /** the last hour (since 1970) for which bounds by baselines hold */
  covered_hour: number
  contenders: SavedContenders[]
  /** keys (<woeid>:<term>) of terms that will have a baseline */
  soon_known: string[]
}

export interface SavedContenders {
  woeid: number
  /** whether these are the terms with a baseline */
  known: boolean
  /** empty: there is no floor, or it has not changed */
  floor_term: string
  floor_value: number
  terms: string[]
}

/** The usual counts of a term in a region, by hour of the week. Store trends-usual, key: <woeid>:<term>. */
export interface TermBaseline {
  /** hour since 1970 from which on every hour is observed, including hours without contributions */
  since_hour: number
  /** the last hour with contributions */
  seen_hour: number
  /** 0-167, those that ever had contributions */
  hours_of_week: number[]
  /** mean of the hour of the week at the same position */
  means: number[]
  /** the week (since 1970) that the mean was last updated with */
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

/** A term has entered a region's top 500. Topic trends-listed-repartition, key: the term. */
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

/** How often rare terms were counted in one minute, so far: a later row of the same term and minute replaces the earlier one and is never smaller. All rows are of one month. Topic trend-rare-volumes, key: the partition of the terms. */
export interface TrendRareVolumes {
  /** if not empty, the rows add to the other rows of their minute, and this identifies them */
  adds_as: string
  rows: TrendRareVolume[]
}

export interface TrendRareVolume {
  /** folded form */
  term: string
  /** start of the minute */
  minute: number
  woeids: number[]
  /** of the region at the same position */
  volumes: number[]
}

/** How often a term was counted in a region in one minute, so far: a later record of the same minute replaces the earlier one and is never smaller. Topic trend-volumes, key: <woeid>:<term>. */
export interface TrendVolume {
  woeid: number
  /** folded form */
  term: string
  /** start of the minute */
  minute: number
  volume: number
}

/** Since when each term of a region's top 30 has been trending, and its ranks. Store trends-since, key: woeid. */
export interface TrendingSince {
  terms: TermSince[]
  /** for the current and the previous ten-minute period: the first list that has terms; changes of rank are measured from the list of the previous period */
  earlier: EarlierList[]
}

export interface TermSince {
  term: string
  since: number
  /** 0: still there */
  left_at: number
  /** the best rank; 0: not known */
  peak_rank: number
}

export interface EarlierList {
  /** number of the period, counted in periods of ten minutes since 1970 */
  period: number
  /** the served terms, best first */
  terms: string[]
}

/** One tweet event, the input of the trends service. Topic tweets, key: user_id in decimal. */
export interface Tweet {
  tweet_id: bigint
  user_id: bigint
  text: string
  hashtags: string[]
  /** extracted n-grams */
  phrases: string[]
  /** ISO 639-1 */
  lang: string
  /** resolved from profile or IP */
  woeid: number
  /** 0.0 human to 1.0 bot */
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

/** How often a partition has published its volumes. Store trends-volumes-round. */
export interface VolumesRound {
  /** the current round */
  round: number
  /** earlier rounds whose volumes were lost by a restart and are not all published yet */
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
