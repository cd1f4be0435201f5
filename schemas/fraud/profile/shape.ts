import type { EntityKind } from '../entity.ts'

const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const WEEK_MS = 7 * DAY_MS
export const MONTH_MS = 30 * DAY_MS

/** How long a merchant or device counts as known to a user. */
export const KNOWN_MS = 90 * DAY_MS

/**
 * Data is kept for this long beyond the length of its window. Ages are counted from the newest transaction, which may
 * come from a clock that is five minutes fast. The windows of a transaction from a correct clock then begin five
 * minutes earlier than the windows of the newest transaction.
 */
const SLACK_MS = 10 * MINUTE_MS

/** A level of a profile's sums. The buckets of a level have the same length and are aligned to it. */
export interface SumLevel {
  readonly spanMinutes: number
  /** Buckets of this level are kept up to this age, ms. Older buckets are joined into buckets of the next level. */
  readonly keptMs: number
}

/** Limits for the entities of one other kind that a profile remembers. */
export interface SeenLimit {
  readonly keptMs: number
  /** Maximum number of entities. When there are more, the entities that were seen longest ago are forgotten. */
  readonly most: number
}

/** What the profiles of one kind of entity contain. */
export interface ProfileShape {
  /** Transactions are kept individually up to this age, ms. */
  readonly exactMs: number
  /**
   * Maximum number of transactions that are kept individually. Further ones displace the oldest, which are added to the
   * sums.
   */
  readonly mostEvents: number
  /** The levels, from fine to coarse. The span of each level is a multiple of the span of the previous level. */
  readonly levels: readonly SumLevel[]
  readonly seen: Readonly<Partial<Record<EntityKind, SeenLimit>>>
  /** Maximum number of user ids that are kept in full. */
  readonly userIds: number
  /** Maximum number of places that are kept. */
  readonly places: number
  readonly hasTier: boolean
}

const MOST_EVENTS = 512
/**
 * Maximum number of remembered entities of a kind. It is high enough to distinguish a device farm from a family.
 * Higher counts need not be distinguished.
 */
const MOST_SEEN = 128
/** Maximum number of remembered merchants of a user. */
const MOST_MERCHANTS = 256
const MOST_USER_IDS = 32
/** Several places are kept, because a late transaction is compared with the place before it. */
const MOST_PLACES = 8

const aWeek: SeenLimit = { keptMs: WEEK_MS + SLACK_MS, most: MOST_SEEN }
const knownFor: SeenLimit = { keptMs: KNOWN_MS + SLACK_MS, most: MOST_SEEN }

const MINUTES: SumLevel = { spanMinutes: 1, keptMs: HOUR_MS + SLACK_MS }
const QUARTER_HOURS: SumLevel = { spanMinutes: 15, keptMs: DAY_MS + SLACK_MS }
const TWO_HOURS: SumLevel = { spanMinutes: 120, keptMs: WEEK_MS + SLACK_MS }
const DAYS: SumLevel = { spanMinutes: 1_440, keptMs: MONTH_MS + SLACK_MS }

const TRANSACTION_LEVELS = [MINUTES, QUARTER_HOURS, TWO_HOURS]
const EXACT_DAY = { exactMs: DAY_MS + SLACK_MS, mostEvents: MOST_EVENTS, levels: TRANSACTION_LEVELS, places: 0 }

export const PROFILE_SHAPES: Readonly<Record<EntityKind, ProfileShape>> = {
  user: {
    exactMs: WEEK_MS + SLACK_MS,
    mostEvents: MOST_EVENTS,
    levels: TRANSACTION_LEVELS,
    seen: { device: knownFor, ip: aWeek, card: aWeek, merchant: { ...knownFor, most: MOST_MERCHANTS } },
    userIds: 0,
    places: MOST_PLACES,
    hasTier: true,
  },
  device: { ...EXACT_DAY, seen: { user: aWeek, ip: aWeek, card: aWeek }, userIds: MOST_USER_IDS, hasTier: true },
  ip: { ...EXACT_DAY, seen: { user: aWeek, device: aWeek, card: aWeek }, userIds: MOST_USER_IDS, hasTier: false },
  card: { ...EXACT_DAY, seen: { user: aWeek, device: aWeek, ip: aWeek, merchant: aWeek }, userIds: 0, hasTier: false },
  merchant: { exactMs: 0, mostEvents: 0, levels: [TWO_HOURS, DAYS], seen: {}, userIds: 0, places: 0, hasTier: false },
}
