/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** One counted redirect of a short link. Topic clicks, key: short_code. */
export interface Click {
  short_code: string
  /** ISO 8601, UTC */
  timestamp: string
  /** address of the visitor; empty if unknown */
  ip: string
  /** as sent; empty: none */
  user_agent: string
  /** as sent, a URL; empty: none */
  referrer: string
  /** ISO 3166-1 alpha-2, if the producer knows it from a CDN's header. If it is empty, the pipeline looks up the ip */
  country: string
}

/** The details of a click: one record per counted click. Topic click-details, key: short_code. */
export interface ClickDetails {
  short_code: string
  clicked_at: number
  /** registrable domain of the referrer; package of a mobile app; host without a registrable domain (IP address, local name); direct; or unknown */
  referrer: string
  /** ISO 3166-1 alpha-2, or unknown */
  country: string
  /** family of the browser, or unknown */
  browser: string
  /** desktop, mobile, tablet, tv, bot or unknown */
  device: string
  bot: boolean
  /** 16 hexadecimal digits that identify the visitor for one UTC day */
  visitor: string
  /** address of the visitor; empty unless the operator keeps addresses */
  ip: string
}

/** The counts of one link's clicks. Store clicks-totals, key: short_code. */
export interface ClickTotals {
  /** all clicks */
  total: number
  /** clicks by bots */
  bots: number
  /** all clicks by hour since 1970, oldest hour first. Contains only hours with clicks, out of the 48 hours up to the newest one */
  hours: HourOfClicks[]
  /** This list and the following lists count only clicks by people */
  referrers: Tally
  countries: Tally
  browsers: Tally
  devices: Tally
}

export interface HourOfClicks {
  hour: number
  clicks: number
}

/** A Space-Saving summary. Its counts are exact unless there are more values than places. */
export interface Tally {
  values: string[]
  /** count of the value at the same position; never too low */
  counts: number[]
  /** maximum by which the count may be too high */
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
  /** target of the redirect after expires_at; null: none */
  expired_url: null | string
  created_at: number
  /** false: switched off */
  is_active: boolean
  /** switched off by an administrator; the owner cannot switch it on again */
  is_blocked: boolean
  /** set shortly after expires_at, or later if the pipeline lags behind. Readers also compare expires_at with the time */
  is_expired: boolean
  /** true: deleted permanently; the code stays taken */
  is_deleted: boolean
  analytics: boolean
}

/** A request that the partition of a short code decides. Body of topic link-commands, key: short_code. */
export interface LinkCommand {
  action: LinkAction
  /** the caller; null: anonymous */
  user_id: null | bigint
  is_admin: boolean
  /** create */
  long_url: string
  /** create: host of the short domain */
  domain: string
  /** create: clicks are counted */
  analytics: boolean
  /** create: true to return the caller's existing link with the same URL instead of a new one */
  reuses: boolean
  /** update: whether the request sets expires_at */
  sets_expiry: boolean
  /** create, update; null: never */
  expires_at: null | number
  /** update; null: unchanged */
  is_active: null | boolean
  /** update: whether the request sets expired_url */
  sets_expired_url: boolean
  /** create, update */
  expired_url: null | string
}

export type LinkAction = 'create' | 'update' | 'delete'

/** A link whose clicks were counted has been deleted, so its statistics may be dropped. Topic link-deletions, key: short_code. */
export interface LinkDeletion {
  deleted_at: number
}

/** The statistics of one link so far; the latest record applies. Topic link-stats (compacted), key: short_code. The record with the key :as-of has only as_of: the records before it include all clicks of the partition up to this time. */
export interface LinkStats {
  as_of: number
  total_clicks: number
  /** number of the total_clicks that bots made */
  bot_clicks: number
  /** number of different visitors of each UTC day, added up; without bots */
  unique_clicks: number
  /** false if unique_clicks is an estimate */
  unique_is_exact: boolean
  /** all clicks by hour, oldest hour first. Contains only hours with clicks, out of the 48 hours up to the newest one */
  hours: LinkStatsHour[]
  /** the 10 most frequent values, most frequent first. This list and the following lists do not count bots */
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
  /** maximum by which clicks may be too high; 0 if clicks is exact */
  over: number
}

/** The visitors of a link, as a set of daily hashes. Store clicks-visitors, key: short_code. */
export interface LinkVisitors {
  /** 8 bytes for each visitor; empty above 1,024 visitors */
  hashes: Buffer
  /** registers of a HyperLogLog, one byte each; empty up to 1,024 visitors */
  registers: Buffer
}

declare module '../load.ts' {
  interface RecordTypes {
    'links/Click': Click
    'links/ClickDetails': ClickDetails
    'links/ClickTotals': ClickTotals
    'links/Link': Link
    'links/LinkCommand': LinkCommand
    'links/LinkDeletion': LinkDeletion
    'links/LinkStats': LinkStats
    'links/LinkVisitors': LinkVisitors
  }
}
