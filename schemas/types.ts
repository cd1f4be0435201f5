/** Generated from schemas/*.avsc by `npm run schemas`; a test holds it up to date. Do not edit. */

/** What was decided about a command. Part of every decision topic. */
export interface CommandResult {
  command_id: string
  /** the API instance that asked */
  reply_to: string
  /** of the request that was decided */
  request_hash: string
  /** conflict: the id was used before with another request */
  outcome: CommandOutcome
  decided_at: number
  /** JSON, the service's own; empty on conflict */
  answer: string
}

export type CommandOutcome = 'decided' | 'conflict'

/** The first answer to a command, kept for 24 hours. Stores <topology>-decided, key: command_id. */
export interface DecidedCommand {
  request_hash: string
  decided_at: number
  /** JSON */
  answer: string
}

/** Audit: a change of a rule or an API key. Topic limit-audit, key: subject. */
export interface LimitChange {
  /** rule:<rule_id> or key:<key_id> */
  subject: string
  action: LimitCommandAction
  actor: string
  at: number
  /** JSON without the key's hash; null: there was none */
  before: null | string
  /** JSON without the key's hash */
  after: null | string
}

export type LimitCommandAction = 'create_rule' | 'replace_rule' | 'delete_rule' | 'issue_key' | 'revoke_key'

/** An API key and whose it is. Topic limit-clients (compacted), key: key_hash. */
export interface LimitClient {
  /** names the key without being it */
  key_id: string
  /** SHA-256 of the key, hex; the key itself is nowhere */
  key_hash: string
  /** at most 100 characters; several keys may have one */
  client_id: string
  tier: string
  label: string
  created_at: number
  revoked_at: null | number
}

/** A change of one rule or one API key. Body of topic limit-commands, key: rule:<rule_id> or key:<key_id>. */
export interface LimitCommand {
  action: LimitCommandAction
  /** the administrator's user id */
  actor: string
  /** create_rule, replace_rule; its times are set by the decision */
  rule: null | LimitRule
  /** issue_key; its times are set by the decision */
  client: null | LimitClient
}

/** A rate limit rule. Topic limit-rules (compacted), key: rule_id. */
export interface LimitRule {
  /** at most 100 characters */
  rule_id: string
  /** at most 50 characters; * for all */
  tier: string
  /** [METHOD ]/exact/path, /a/prefix/* or *; at most 200 characters */
  endpoint_pattern: string
  /** what the counter is kept by */
  key: LimitKeyPart[]
  limit_count: number
  window_seconds: number
  /** above 0: a token bucket */
  burst_allowance: number
  action: LimitAction
  is_active: boolean
  created_at: number
  updated_at: number
}

export type LimitKeyPart = 'client' | 'api_key' | 'user' | 'ip' | 'endpoint'

export type LimitAction = 'reject' | 'log_only'

/** A rule or an API key, as it was decided last. Topic limit-decisions, key as in limit-commands. */
export interface LimitSetting {
  rule: null | LimitRule
  client: null | LimitClient
  changed_by: string
  action: LimitCommandAction
}

/** The requests of one second that one API instance decided, for replays against draft rules. Topic limit-traffic, key: node. */
export interface LimitTraffic {
  second: number
  node: string
  entries: LimitTrafficEntry[]
  /** requests beyond the kinds that are kept apart */
  left_out: number
}

export interface LimitTrafficEntry {
  client_id: string
  tier: string
  /** empty: none */
  api_key_id: string
  /** empty: none */
  user_id: string
  ip: string
  method: string
  /** at most 200 characters */
  path: string
  requests: number
  refused: number
}

/** A request over a rule's limit, refused or let through; at most one per client, rule and second from each API instance; the table limit_violations keeps one of them. Topic limit-violations, key: client_id. */
export interface LimitViolation {
  at: number
  rule_id: string
  client_id: string
  method: string
  /** at most 200 characters */
  path: string
  action: LimitAction
  estimate: number
  limit_count: number
}

/** One counted redirect of a short link. Topic clicks, key: short_code. */
export interface Click {
  short_code: string
  /** ISO 8601, UTC */
  timestamp: string
  /** of the visitor; empty: not known */
  ip: string
  /** as sent; empty: none */
  user_agent: string
  /** as sent, a URL; empty: none */
  referrer: string
  /** ISO 3166-1 alpha-2 where the producer knows it (a CDN's header); empty: the pipeline looks the ip up */
  country: string
}

/** What a click tells, without the visitor's address: one record per counted click. Topic click-details, key: short_code. */
export interface ClickDetails {
  short_code: string
  clicked_at: number
  /** registrable host; direct, unknown */
  referrer: string
  /** ISO 3166-1 alpha-2; unknown */
  country: string
  /** family; unknown */
  browser: string
  /** desktop, mobile, tablet, tv, bot or unknown */
  device: string
  bot: boolean
  /** 16 hexadecimal digits that are the visitor's for one UTC day */
  visitor: string
  /** empty unless the operator keeps addresses */
  ip: string
}

/** What is counted of one link's clicks. Store clicks-totals, key: short_code. */
export interface ClickTotals {
  /** all clicks */
  total: number
  /** those of bots */
  bots: number
  /** all clicks by hour since 1970, ascending, of the last 48 hours with clicks */
  hours: HourOfClicks[]
  /** by people, as are the following */
  referrers: Tally
  countries: Tally
  browsers: Tally
  devices: Tally
}

export interface HourOfClicks {
  hour: number
  clicks: number
}

/** A Space-Saving summary: exact while the values are fewer than its places. */
export interface Tally {
  values: string[]
  /** of the value at the same position; never too small */
  counts: number[]
  /** by how much the count may be too great */
  over: number[]
}

/** A short link. Store links-records and view of topic link-decisions, key: short_code; topic user-links, key: <user_id>:<short_code>. */
export interface Link {
  short_code: string
  long_url: string
  /** null: anonymous */
  user_id: null | bigint
  domain: string
  /** null: never */
  expires_at: null | number
  /** where visitors go afterwards; null: nowhere */
  expired_url: null | string
  created_at: number
  /** false: switched off by its owner */
  is_active: boolean
  /** marked within 10 minutes of expires_at; readers look at the time themselves */
  is_expired: boolean
  /** for good; the code stays taken */
  is_deleted: boolean
  analytics: boolean
}

/** A request that the partition of a short code decides. Body of topic link-commands, key: short_code. */
export interface LinkCommand {
  action: LinkAction
  /** who asks; null: anonymous */
  user_id: null | bigint
  is_admin: boolean
  /** create */
  long_url: string
  /** create: host of the short domain */
  domain: string
  /** create: clicks are counted */
  analytics: boolean
  /** create: the asker's own link with the same URL is taken for the new one */
  reuses: boolean
  /** update: expires_at is meant */
  sets_expiry: boolean
  /** create, update; null: never */
  expires_at: null | number
  /** update; null: unchanged */
  is_active: null | boolean
  /** update: expired_url is meant */
  sets_expired_url: boolean
  /** create, update */
  expired_url: null | string
}

export type LinkAction = 'create' | 'update' | 'delete'

/** A link whose clicks were counted is gone: whoever keeps something of it may forget it. Topic link-deletions, key: short_code. */
export interface LinkDeletion {
  deleted_at: number
}

/** The statistics of one link so far: the latest record counts. Topic link-stats (compacted), key: short_code. The record with the key :as-of tells, with as_of alone, up to when a partition's clicks are all counted in the records before it. */
export interface LinkStats {
  as_of: number
  total_clicks: number
  /** the part of total_clicks that bots made */
  bot_clicks: number
  /** people per UTC day, without bots */
  unique_clicks: number
  /** false: an estimate */
  unique_is_exact: boolean
  /** all clicks, ascending, of the last 48 hours with clicks */
  hours: LinkStatsHour[]
  /** the most frequent, best first, at most 10; without bots, as are the following */
  referrers: LinkStatsEntry[]
  countries: LinkStatsEntry[]
  browsers: LinkStatsEntry[]
  devices: LinkStatsEntry[]
}

export interface LinkStatsHour {
  start: number
  clicks: number
}

export interface LinkStatsEntry {
  value: string
  clicks: number
  /** clicks may be too great by this much; 0: exact */
  over: number
}

/** Who has clicked a link, as a set of daily hashes. Store clicks-visitors, key: short_code. */
export interface LinkVisitors {
  /** 8 bytes each, while the visitors are few; empty afterwards */
  hashes: Buffer
  /** of a HyperLogLog, one byte each, from then on; empty before */
  registers: Buffer
}

/** How many snippets of a partition have a blob as their content. Store snippets-blobs and topic snippet-blobs, key: hash, partitioned as the snippets are; gone: none. */
export interface BlobReferences {
  snippets: number
}

/** A snippet without its content, which lies in the blob store. Store snippets-records and view of topic snippet-decisions, key: paste_id. */
export interface Snippet {
  paste_id: string
  /** null: anonymous */
  user_id: null | bigint
  /** as it was at creation; null: anonymous */
  username: null | string
  title: null | string
  language: string
  /** bytes */
  content_size: number
  /** SHA-256 in hex: the name of the blob */
  content_hash: string
  visibility: Visibility
  /** null: never */
  expires_at: null | number
  created_at: number
  view_count: number
  /** null: as often as one likes */
  reads_left: null | number
  /** paste_id of the version that this one follows */
  predecessor: null | string
  /** paste_id of the first version; null: this is it */
  root: null | string
  /** out of every list; readers look at the time themselves */
  is_expired: boolean
  /** for good: by its owner, by its last read, or by the cleanup after it had expired */
  is_deleted: boolean
  /** the beginning of a public content, for the search; empty in the view, and when it has expired or is deleted */
  excerpt: string
}

export type Visibility = 'public' | 'unlisted' | 'private'

/** A request that the partition of a snippet decides. Body of topic snippet-commands, key: paste_id. All ids of a user lie in one partition. */
export interface SnippetCommand {
  action: SnippetAction
  /** who asks; null: anonymous */
  user_id: null | bigint
  /** create; null: nothing is made, only the answer to the same command of before is wanted */
  snippet: null | NewSnippet
}

export type SnippetAction = 'create' | 'delete' | 'read'

export interface NewSnippet {
  username: null | string
  title: null | string
  language: string
  content_size: number
  content_hash: string
  visibility: Visibility
  /** from the decision on; null: for ever */
  lifetime_ms: null | number
  reads_left: null | number
  predecessor: null | string
  root: null | string
  excerpt: string
}

/** A snippet's content was sent to somebody. Topic snippet-reads, key: paste_id. */
export interface SnippetRead {
  read_at: number
}

/** What search and analysts know of a snippet; of those that are not public, neither title nor text. Topic snippet-texts, key: paste_id: once when it is made, once when it is deleted. */
export interface SnippetText {
  paste_id: string
  user_id: null | bigint
  title: string
  language: string
  content_size: number
  visibility: string
  created_at: number
  expires_at: null | number
  is_deleted: boolean
  /** the beginning of the content */
  text: string
}

/** How often a snippet was read so far. Topic snippet-view-counts and store snippet-views-totals, key: paste_id. */
export interface SnippetViews {
  views: number
}

/** Terms without baseline over all regions at the last moments. Store trends-totals. */
export interface NewTermTotals {
  moments: NewTermMoment[]
}

export interface NewTermMoment {
  window_end: number
  /** how many have reported */
  partitions: number
  volume: number
  terms: number
}

/** The best terms of a region in one partition at one moment, or, with woeid 0, that partition's totals. Topic trends-candidates-repartition, key: woeid. */
export interface RegionCandidates {
  woeid: number
  window_end: number
  /** of the terms */
  partition: number
  entries: TrendCandidate[]
  /** greatest count among the terms without baseline that were left out */
  rest_new: number
  /** greatest score among the terms with baseline that were left out */
  rest_known: number
  /** woeid 0: window counts of all terms without baseline */
  new_volume: number
  /** woeid 0: how many they are */
  new_terms: number
}

export interface TrendCandidate {
  term: string
  name: string
  /** the window */
  count: number
  /** the window one hour ago */
  hour_ago: number
  /** the last 24 hours */
  day: number
  /** for this hour of the week; -1: none */
  baseline: number
  tracked: boolean
  sample_tweets: bigint[]
}

/** How much is usual for a term of a region, by hour of the week. Store trends-baselines, key: <woeid>:<term>. */
export interface TermBaseline {
  /** hours since 1970 from which on every hour is observed, silent ones included */
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

/** What one worker has counted for a term of a region since its last commit. Topic trends-counts-repartition, key: <woeid>:<term>. */
export interface TermCounts {
  /** minutes since 1970 */
  minutes: number[]
  /** contributions of the minute at the same position */
  counts: number[]
  /** how people wrote the term */
  forms: TermForm[]
  /** the newest tweets of distinct users, newest first */
  samples: SampleTweet[]
}

export interface TermForm {
  form: string
  count: number
}

export interface SampleTweet {
  tweet_id: bigint
  user_id: bigint
  created_at: number
}

/** All that is known of a term in a region. Store trends-terms, key: <woeid>:<term>. */
export interface TermState {
  /** contributions by minute since 1970, of the last two hours and those dated ahead */
  minutes: Buckets
  /** contributions by hour since 1970, of the last 24 whole hours and the current one */
  hours: Buckets
  forms: TermForm[]
  samples: SampleTweet[]
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

/** A term has entered its region's top 500. Topic trends-tracked-repartition, key: <woeid>:<term>. */
export interface TermTracked {
  window_end: number
}

/** The ranked list of one region at one moment. Topics trend-output (every minute) and trend-renewals (the half minutes), key: woeid in decimal. */
export interface TrendOutput {
  woeid: number
  window_end: number
  source: TrendSource
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
}

/** How often a term was counted in a region in one minute, so far: a later record of the same minute replaces it and is never smaller. Topic trend-volumes, key: <woeid>:<term>. */
export interface TrendVolume {
  woeid: number
  /** folded form */
  term: string
  /** its start */
  minute: number
  volume: number
}

/** Since when the terms of a region's top 30 trend. Store trends-since, key: woeid. */
export interface TrendingSince {
  terms: TermSince[]
}

export interface TermSince {
  term: string
  since: number
  /** 0: still there */
  left_at: number
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

/** What one user has had counted lately; the state behind the cap per user. Store trends-users, key: user_id. */
export interface UserContributions {
  terms: TermContributions[]
}

export interface TermContributions {
  term: string
  /** minutes since 1970 of the counted contributions, ascending */
  minutes: number[]
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
  round: number
}

/** Records by the file that declares them. */
export interface RecordTypes {
  'commands/CommandResult': CommandResult
  'commands/DecidedCommand': DecidedCommand
  'limits/LimitChange': LimitChange
  'limits/LimitClient': LimitClient
  'limits/LimitCommand': LimitCommand
  'limits/LimitRule': LimitRule
  'limits/LimitSetting': LimitSetting
  'limits/LimitTraffic': LimitTraffic
  'limits/LimitViolation': LimitViolation
  'links/Click': Click
  'links/ClickDetails': ClickDetails
  'links/ClickTotals': ClickTotals
  'links/Link': Link
  'links/LinkCommand': LinkCommand
  'links/LinkDeletion': LinkDeletion
  'links/LinkStats': LinkStats
  'links/LinkVisitors': LinkVisitors
  'snippets/BlobReferences': BlobReferences
  'snippets/Snippet': Snippet
  'snippets/SnippetCommand': SnippetCommand
  'snippets/SnippetRead': SnippetRead
  'snippets/SnippetText': SnippetText
  'snippets/SnippetViews': SnippetViews
  'trends/NewTermTotals': NewTermTotals
  'trends/RegionCandidates': RegionCandidates
  'trends/TermBaseline': TermBaseline
  'trends/TermCounts': TermCounts
  'trends/TermState': TermState
  'trends/TermTracked': TermTracked
  'trends/TrendOutput': TrendOutput
  'trends/TrendVolume': TrendVolume
  'trends/TrendingSince': TrendingSince
  'trends/Tweet': Tweet
  'trends/UserContributions': UserContributions
  'trends/UserInterests': UserInterests
  'trends/VolumesRound': VolumesRound
}
