import { decimalId } from '../../../schemas/keys.ts'
import { type PackedInteraction, unpackHistory } from '../../../schemas/recommendations/events/packed-history.ts'
import { newestTime, unpackIds } from '../../../schemas/recommendations/events/packed-items.ts'
import { WATCHED_SHAPE } from '../../../schemas/recommendations/events/seen.ts'
import type { StatedPreference } from '../../../schemas/recommendations/types.ts'
import { DAY_MS, HOUR_MS } from '../../../schemas/retention.ts'
import { seenSetReader } from '../../../state/stores/seen-set/reader.ts'
import type { StoredUser } from '../../../state/views/recommendations/users.ts'

/** The features of the user whom a request is about. */
export interface RequestUser {
  readonly id: bigint
  readonly interactions: number
  /** Hours since the last event; undefined if the user had no event in the last 7 days. */
  readonly hoursAway: number | undefined
  /** The last five items that the user viewed, the newest first. */
  readonly lastViewed: readonly bigint[]
  /** The last ten items that the user viewed, the newest first. */
  readonly recent: readonly bigint[]
  readonly session: readonly bigint[]
  /** The last 100 interactions, the newest first. */
  readonly history: readonly PackedInteraction[]
  readonly hidden: ReadonlySet<bigint>
  /** How often each item was recently shown without having been chosen. */
  readonly timesShown: ReadonlyMap<bigint, number>
  hasWatched(itemId: bigint): boolean
  /** Whether `hasWatched` has met a page of the seen-set that it could not read and treated as empty. */
  hasUnreadPages(): boolean
  readonly country: string | undefined
  readonly ageBucket: string | undefined
  readonly subscriptionTier: string | undefined
  /** The `updated_at` of the user's properties, epoch ms; 0 if it is unknown. */
  readonly propertiesAt: number
  readonly preferences: readonly StatedPreference[]
  /** The `updated_at` of the user's preferences, epoch ms; 0 if it is unknown. */
  readonly preferencesAt: number
  /** Offset, in topic `interactions`, of the newest event that the features include; -1 if there is none. */
  readonly throughOffset: number
}

/** Number of last viewed items whose neighbours become candidates. */
const LAST_ITEMS = 5
/** How long after the user's last event `hoursAway` is still known. */
const VISIT_KEPT_MS = 7 * DAY_MS
const SESSION_GAP_MS = 30 * 60_000
const watched = seenSetReader({ item: decimalId, ...WATCHED_SHAPE })

/** Returns the features of an unknown user. */
export function unknownUser(id: bigint): RequestUser {
  return {
    id,
    interactions: 0,
    hoursAway: undefined,
    lastViewed: [],
    recent: [],
    session: [],
    history: [],
    hidden: new Set(),
    timesShown: new Map(),
    hasWatched: () => false,
    hasUnreadPages: () => false,
    country: undefined,
    ageBucket: undefined,
    subscriptionTier: undefined,
    propertiesAt: 0,
    preferences: [],
    preferencesAt: 0,
    throughOffset: -1,
  }
}

export function requestUser(id: bigint, { self, pages }: StoredUser, now: number): RequestUser {
  let isUnread = false
  const hasUnreadPages = () => isUnread
  const seen = watched.open(
    (page) => pages[page],
    now,
    () => {
      isUnread = true
    },
  )
  // A user whose seen-set has no pages has watched nothing, so no candidates need to be hashed. Hashing hundreds of
  // them would take a quarter of a millisecond.
  const hasPages = Object.keys(pages).length > 0
  const hasWatched = (itemId: bigint) => hasPages && seen.has(itemId)
  if (self === undefined) return { ...unknownUser(id), hasWatched, hasUnreadPages }
  const lastAt = self.last_event_at
  const recent = unpackIds(self.viewed)
  // `last_event_at` may be the time of a SKIP, which does not extend the session.
  const sessionAt = newestTime(self.session)
  const isRecent = lastAt !== null && now - lastAt < VISIT_KEPT_MS
  return {
    id,
    interactions: self.interactions,
    hoursAway: isRecent ? Math.max(0, now - lastAt) / HOUR_MS : undefined,
    lastViewed: recent.slice(0, LAST_ITEMS),
    recent,
    session: sessionAt !== undefined && now - sessionAt < SESSION_GAP_MS ? unpackIds(self.session) : [],
    history: unpackHistory(self.history),
    hidden: new Set(unpackIds(self.hidden)),
    timesShown: counted(unpackIds(self.shown)),
    hasWatched,
    hasUnreadPages,
    country: self.country ?? undefined,
    ageBucket: self.age_bucket ?? undefined,
    subscriptionTier: self.sub_tier ?? undefined,
    // The fields `user_updated_at` and `preferences_updated_at` are missing in records of earlier versions.
    propertiesAt: self.user_updated_at ?? 0,
    preferences: self.preferences,
    preferencesAt: self.preferences_updated_at ?? 0,
    throughOffset: self.through_offset,
  }
}

function counted(ids: readonly bigint[]): Map<bigint, number> {
  const counts = new Map<bigint, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
