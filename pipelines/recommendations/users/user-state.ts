import { insertInteraction, NO_HISTORY } from '../../../schemas/recommendations/events/packed-history.ts'
import { insertItem, moveItem, NO_ITEMS, removeItem } from '../../../schemas/recommendations/events/packed-items.ts'
import { isViewed, weightOf } from '../../../schemas/recommendations/events/weights.ts'
import type {
  Interaction,
  RecommendationUser,
  ServedRecommendations,
  UserPreferences,
  UserSelf,
  UserState,
} from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'

/** Number of a user's last viewed items that are remembered. */
const MAX_VIEWED = 10
const MAX_SESSION_ITEMS = 200
const MAX_HIDDEN = 1_000
/** Number of shown items that are remembered. They are the items of the last five answers, if each has 20 items. */
const MAX_SHOWN = 100
const SESSION_GAP_MS = 30 * 60_000
/** Time after a user's last event at which the session and the last views are forgotten. */
export const FORGET_AFTER_MS = 7 * DAY_MS

export const NEW_USER: UserState = {
  through_offset: -1,
  interactions: 0,
  last_event_at: null,
  session_started_at: null,
  session_last_at: null,
  viewed: NO_ITEMS,
  session: NO_ITEMS,
  history: NO_HISTORY,
  hidden: NO_ITEMS,
  shown: NO_ITEMS,
  country: null,
  language: null,
  age_bucket: null,
  sub_tier: null,
  user_updated_at: null,
  preferences: [],
  preferences_updated_at: null,
}

/** Applies an interaction other than NOT_INTERESTED. Late events are inserted at their place in chronological order. */
export function withInteraction(user: UserState, event: Interaction, offset: number): UserState {
  const { item_id, event_type, timestamp } = event
  const after: UserState = {
    ...user,
    through_offset: offset,
    interactions: user.interactions + 1,
    last_event_at: Math.max(user.last_event_at ?? 0, timestamp),
    history: insertInteraction(user.history, { itemId: item_id, at: timestamp, weight: weightOf(event), type: event_type }),
  }
  if (!isViewed(event_type)) return after
  return {
    ...withSession(after, item_id, timestamp),
    viewed: moveItem(user.viewed, item_id, timestamp, MAX_VIEWED),
    shown: removeItem(user.shown, item_id),
  }
}

/**
 * Continues the session or starts a new one. A session lasts as long as its events are at most half an hour apart. An
 * event from more than half an hour before the start of the session does not change the session.
 */
function withSession(user: UserState, itemId: bigint, at: number): UserState {
  const { session_started_at: startedAt, session_last_at: lastAt } = user
  if (startedAt === null || lastAt === null || at > lastAt + SESSION_GAP_MS) {
    return { ...user, session_started_at: at, session_last_at: at, session: insertItem(NO_ITEMS, itemId, at, MAX_SESSION_ITEMS) }
  }
  if (at < startedAt - SESSION_GAP_MS) return user
  return {
    ...user,
    session_started_at: Math.min(startedAt, at),
    session_last_at: Math.max(lastAt, at),
    session: moveItem(user.session, itemId, at, MAX_SESSION_ITEMS),
  }
}

/**
 * Hides an item, or shows it again if the event withdraws an earlier one. Only the last `MAX_HIDDEN` items stay hidden.
 */
export function withHidden(user: UserState, { item_id, timestamp, withdrawn }: Interaction, offset: number): UserState {
  const hidden = withdrawn ? removeItem(user.hidden, item_id) : moveItem(user.hidden, item_id, timestamp, MAX_HIDDEN)
  return { ...user, through_offset: offset, hidden }
}

/** The part of a served list that the state of its user needs. */
interface ServedItems extends Pick<ServedRecommendations, 'served_at'> {
  readonly items: readonly Pick<ServedRecommendations['items'][number], 'item_id'>[]
}

export function withServed(user: UserState, { items, served_at }: ServedItems): UserState {
  const shown = items.reduce<Buffer>((list, { item_id }) => insertItem(list, item_id, served_at, MAX_SHOWN), Buffer.from(user.shown))
  return { ...user, shown }
}

/**
 * Applies a record about a user.
 * @returns undefined if a newer record has already been applied
 */
export function withUser(user: UserState, record: RecommendationUser | null): UserState | undefined {
  if (record === null) return { ...user, country: null, language: null, age_bucket: null, sub_tier: null, user_updated_at: null }
  if (record.updated_at < (user.user_updated_at ?? 0)) return undefined
  const { country, language, age_bucket, sub_tier, updated_at } = record
  return { ...user, country, language, age_bucket, sub_tier, user_updated_at: updated_at }
}

/**
 * Applies a record of a user's preferences.
 * @returns undefined if a newer record has already been applied
 */
export function withPreferences(user: UserState, record: UserPreferences | null): UserState | undefined {
  if (record === null) return { ...user, preferences: [], preferences_updated_at: null }
  if (record.updated_at < (user.preferences_updated_at ?? 0)) return undefined
  return { ...user, preferences: record.preferences, preferences_updated_at: record.updated_at }
}

/** Deletes data that is only kept for a week. The history is kept, because it shows the taste of a user who returns. */
export function withoutVisit(user: UserState): UserState {
  return {
    ...user,
    last_event_at: null,
    session_started_at: null,
    session_last_at: null,
    viewed: NO_ITEMS,
    session: NO_ITEMS,
    shown: NO_ITEMS,
  }
}

/** Returns the part of a user's state that the API can read. */
export function selfOf(user: UserState): UserSelf {
  const { session_last_at, ...self } = user
  return self
}
