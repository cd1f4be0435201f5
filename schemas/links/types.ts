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
  /** ISO 3166-1 alpha-2, if the producer received the country in a CDN's header; empty: the pipeline derives the country from ip */
  country: string
}

/** The details of a click: one record per counted click. Topic click-details, key: short_code. */
export interface ClickDetails {
  short_code: string
  clicked_at: number
  /** site of the referrer: its registrable domain, its host if it has no such domain (IP address, local name), or the package of a mobile app; direct: no referrer; unknown: the referrer is too long or has no host */
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
  /** address of the visitor; empty: unknown, or the operator does not keep addresses */
  ip: string
}

/** The counts of one link's clicks. Value of store `totals` of topology `clicks`, key: short_code. */
export interface ClickTotals {
  /** all clicks */
  total: number
  /** clicks by bots */
  bots: number
  /** clicks per hour, bots included, oldest hour first. Hours are counted from 1970. The list has only hours with clicks, from the 48 hours up to the newest one */
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

/** A Space-Saving summary of at most 256 values. Its counts are exact as long as no more values occur. */
export interface Tally {
  values: string[]
  /** count of the value at the same position; never too low */
  counts: number[]
  /** maximum by which the count may be too high */
  over: number[]
}

/** A short link. Value of store `records` of topology `links` and view of topic `link-decisions`, key: short_code. Topic `user-links`, key: <user_id>:<short_code>, partitioned by user_id. */
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
  /** false: switched off or deleted */
  is_active: boolean
  /** true: switched off by an administrator; the owner cannot switch the link on again */
  is_blocked: boolean
  /** true: expired. Set shortly after expires_at, or later if the pipeline lags behind, so readers also compare expires_at with the current time */
  is_expired: boolean
  /** true: deleted permanently; the code stays taken */
  is_deleted: boolean
  analytics: boolean
}

/** A request to create, change or delete a short link. Body of topic link-commands, key: short_code. */
export interface LinkCommand {
  action: LinkAction
  /** the caller; null: anonymous */
  user_id: null | bigint
  is_admin: boolean
  /** create */
  long_url: string
  /** create: host of the short domain */
  domain: string
  /** create: true if clicks are counted */
  analytics: boolean
  /** create: whether an existing link with this short code may be returned, if it is an active link of the caller with the same long_url, domain and analytics */
  reuses: boolean
  /** update: whether the request sets expires_at */
  sets_expiry: boolean
  /** create, update; null: never */
  expires_at: null | number
  /** update; null: unchanged */
  is_active: null | boolean
  /** update: whether the request sets expired_url */
  sets_expired_url: boolean
  /** create, update: target of the redirect after expires_at; null: none */
  expired_url: null | string
}

export type LinkAction = 'create' | 'update' | 'delete'

/** The deletion of a link whose clicks were counted, after which its statistics can be deleted, too. Topic link-deletions, key: short_code. */
export interface LinkDeletion {
  deleted_at: number
}

/** The statistics of one link so far; a later record replaces an earlier one. Topic link-stats (compacted), key: short_code. In records with the key :as-of, only as_of has a value: the records before them include all clicks of the partition up to this time. */
export interface LinkStats {
  as_of: number
  total_clicks: number
  /** how many of total_clicks came from bots */
  bot_clicks: number
  /** number of different visitors per UTC day, summed over all days, without bots */
  unique_clicks: number
  /** false if unique_clicks is an estimate */
  unique_is_exact: boolean
  /** clicks per hour, bots included, oldest hour first. The list has only hours with clicks, from the 48 hours up to the newest one */
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

/** The visitors of a link, apart from bots, as a set of hashes. A visitor has a different hash on each UTC day. Value of store `visitors` of topology `clicks`, key: short_code. */
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
