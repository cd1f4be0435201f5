import { boostByEditors, type EditorialLists, placedByEditors } from '../../../api/recommendations/candidates/editorial.ts'
import { trendingFor } from '../../../api/recommendations/candidates/trending.ts'
import { itemTable } from '../../../api/recommendations/items/item-table.ts'
import { leaders } from '../../../api/recommendations/items/leaders.ts'
import type { RecommendationModel } from '../../../api/recommendations/model/model.ts'
import { type Recommended, type RecommendSources, recommend } from '../../../api/recommendations/recommend.ts'
import { type RequestUser, requestUser, unknownUser } from '../../../api/recommendations/users/request-user.ts'
import {
  isDue as areStatsDue,
  asPublished,
  NO_SIGNALS,
  statsOf,
  withActivity,
} from '../../../pipelines/recommendations/signals/item-counts.ts'
import { isDue, NO_NEIGHBOURS, publishedAt, publishedOf, withNear } from '../../../pipelines/recommendations/signals/neighbourhood.ts'
import { activities } from '../../../pipelines/recommendations/users/activities.ts'
import {
  FORGET_AFTER_MS,
  NEW_USER,
  selfOf,
  withHidden,
  withInteraction,
  withoutVisit,
  withPreferences,
  withServed,
  withUser,
} from '../../../pipelines/recommendations/users/user-state.ts'
import { itemsUntil } from '../../../schemas/recommendations/events/packed-items.ts'
import { isWatched } from '../../../schemas/recommendations/events/weights.ts'
import { packNeighbours, unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type {
  EditorialList,
  Interaction,
  ItemNeighbourhood,
  ItemSignals,
  RecommendationItem,
  RecommendationUser,
  UserPreferences,
  UserState,
} from '../../../schemas/recommendations/types.ts'
import { DAY_MS, MINUTE_MS } from '../../../schemas/retention.ts'
import type { PastInteraction } from '../history/history.ts'
import type { ShownList } from '../history/shown.ts'
import { ownBytes, withOwnBytes } from './own-bytes.ts'
import { trends } from './trends.ts'

/**
 * An in-memory replica of the recommendations service at a time in the past. The functions of the service's pipelines
 * fold interactions in, and the functions of its API make lists.
 */
export interface ReplayWorld {
  putItem(itemId: bigint, item: RecommendationItem): void
  putUser(userId: bigint, user: RecommendationUser): void
  putPreferences(userId: bigint, preferences: UserPreferences): void
  /**
   * Adds an editors' list. The list is used only from the time of its last change, because its earlier content is no
   * longer known.
   */
  putEditorial(name: string, list: EditorialList): void
  /** Applies an interaction. Interactions must be applied in chronological order. */
  apply(userId: bigint, event: PastInteraction): void
  /** Records that a list was shown to its user. Lists and interactions must be passed in chronological order. */
  show(list: ShownList): void
  /**
   * Makes the list that the user would have received on the homepage.
   * @param now epoch ms
   * @param shownUntil epoch ms; lists that were shown to the user after this time are ignored. By default, no list is
   * ignored
   */
  ask(userId: bigint, now: number, model: RecommendationModel | undefined, shownUntil?: number): Recommended
  hasWatched(userId: bigint, itemId: bigint, now: number): boolean
}

/** How long watched items are left out. */
const WATCHED_MS = 90 * DAY_MS
/**
 * Maximum number of interactions and shown lists between two commits while no list is requested. If commits were more
 * frequent, the same items would be folded more often.
 */
const MOST_UNSETTLED = 500
/**
 * How long the lists of the most popular items and of new items are kept. The service rebuilds these lists once a
 * minute at most, in a pass over all items. In a replay, most requests are more than a minute apart, so with many
 * items, these passes would take nearly all of the time. If there are more than `FEW_ITEMS` items, passes are therefore
 * rarer: with a million items, they take place every two hours.
 */
const LEADERS_KEPT_MS = MINUTE_MS
const FEW_ITEMS = 8_192
/** Offset of every record: a constant, because the replay needs no position in a log. */
const NO_OFFSET = 0
const NOTHING = Buffer.alloc(0)

export function replayWorld(): ReplayWorld {
  const items = itemTable()
  const users = new Map<bigint, UserState>()
  const watched = new Map<bigint, Map<bigint, number>>()
  const signals = new Map<bigint, ItemSignals>()
  const neighbourhoods = new Map<bigint, ItemNeighbourhood>()
  /** The published neighbours of each item. They are packed, because objects would take ten times as much memory. */
  const published = new Map<bigint, Buffer>()
  const trending = trends()
  const happened = activities()
  const editorial = new Map<string, EditorialList>()
  let now = 0
  let unsettled = 0

  function editorialAt(time: number): EditorialLists {
    return new Map([...editorial].filter(([, { updated_at }]) => updated_at <= time))
  }

  function isActive(itemId: bigint): boolean {
    return items.isActive(items.rowOf(itemId))
  }

  const sources: RecommendSources = {
    items,
    leaders: leaders({ items, now: () => now, keptMs: () => LEADERS_KEPT_MS * Math.max(1, items.size / FEW_ITEMS) }),
    trendingFor: (user) => trendingFor({ listOf: (group) => trending.listOf(group, now), isActive }, user, now),
    editorialFor: (context) => placedByEditors(editorialAt(now), context, now),
    boost: () => boostByEditors(editorialAt(now), now),
  }

  /** Applies all changes to items since the last call, as a commit of the streams does. */
  function settle(): void {
    unsettled = 0
    for (const [itemId, activity] of happened.take()) {
      if (!items.isItem(items.rowOf(itemId))) continue
      const counted = withActivity(signals.get(itemId) ?? NO_SIGNALS, activity)
      const isPublished = areStatsDue(counted)
      if (isPublished) items.putStats(itemId, statsOf(counted))
      signals.set(itemId, isPublished ? asPublished(counted) : counted)
      trending.add(itemId, activity.events)
      if (activity.near.length === 0) continue
      const neighbourhood = withNear(neighbourhoods.get(itemId) ?? NO_NEIGHBOURS, activity.near)
      if (isDue(neighbourhood)) {
        published.set(itemId, ownBytes(packNeighbours(publishedOf(neighbourhood, publishedAt(activity.near, counted)))))
        neighbourhood.unpublished = 0
      }
      neighbourhoods.set(itemId, withOwnBytes(neighbourhood))
    }
  }

  function hasWatched(userId: bigint, itemId: bigint, at: number): boolean {
    return (watched.get(userId)?.get(itemId) ?? Number.NEGATIVE_INFINITY) > at - WATCHED_MS
  }

  function userAt(userId: bigint, shownUntil: number): RequestUser {
    const known = users.get(userId)
    if (known === undefined) return unknownUser(userId)
    const state = stateAt(known, now)
    const shown = itemsUntil(state.shown, shownUntil)
    const user = requestUser(userId, { self: selfOf({ ...state, shown }), pages: {} }, now)
    return { ...user, hasWatched: (itemId) => hasWatched(userId, itemId, now) }
  }

  return {
    putItem: (itemId, item) => items.putItem(itemId, item),
    putUser: (userId, user) => void users.set(userId, withUser(users.get(userId) ?? NEW_USER, user) ?? NEW_USER),
    putPreferences: (userId, stated) => void users.set(userId, withPreferences(users.get(userId) ?? NEW_USER, stated) ?? NEW_USER),
    putEditorial: (name, list) => void editorial.set(name, list),
    apply(userId, past) {
      const event = past as Interaction
      const before = stateAt(users.get(userId) ?? NEW_USER, event.timestamp)
      if (event.event_type === 'NOT_INTERESTED') {
        users.set(userId, withOwnBytes(withHidden(before, event, NO_OFFSET)))
        return
      }
      const after = withInteraction(before, event, NO_OFFSET)
      users.set(userId, withOwnBytes(after))
      if (isWatched(event)) {
        const own = watched.get(userId) ?? new Map<bigint, number>()
        watched.set(userId, own.set(event.item_id, event.timestamp))
      }
      happened.addInteraction(event, before, after, event.rec_request_id !== null)
      unsettled++
      if (unsettled === MOST_UNSETTLED) settle()
    },
    show({ userId, at, itemIds }) {
      const items = Array.from(itemIds, (item_id) => ({ item_id }))
      users.set(userId, withOwnBytes(withServed(stateAt(users.get(userId) ?? NEW_USER, at), { items, served_at: at })))
      for (const itemId of itemIds) happened.addShown(itemId, at)
      unsettled++
      if (unsettled === MOST_UNSETTLED) settle()
    },
    ask(userId, at, model, shownUntil = at) {
      now = at
      settle()
      const user = userAt(userId, shownUntil)
      const neighbours = new Map(user.recent.map((itemId) => [itemId, unpackNeighbours(published.get(itemId) ?? NOTHING)]))
      const asked = { recType: 'personalized', context: 'homepage', anchor: undefined, diversity: false } as const
      return recommend(sources, { ...asked, user, neighbours, model, now })
    },
    hasWatched,
  }
}

/**
 * If the user has been inactive for a week, removes the data that the service keeps only for a week, as the stream's
 * timer does.
 */
function stateAt(state: UserState, time: number): UserState {
  const isForgotten = state.last_event_at !== null && time - state.last_event_at >= FORGET_AFTER_MS
  return isForgotten ? withoutVisit(state) : state
}
