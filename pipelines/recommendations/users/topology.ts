import { NO_ITEMS, newestTime } from '../../../schemas/recommendations/events/packed-items.ts'
import { WATCHED_SHAPE } from '../../../schemas/recommendations/events/seen.ts'
import { pageKey, selfKey } from '../../../schemas/recommendations/events/user-keys.ts'
import { isWatched } from '../../../schemas/recommendations/events/weights.ts'
import {
  interactions,
  itemEvents,
  recommendationsServed,
  recommendationUsers,
  userFeatures,
  userPreferences,
} from '../../../schemas/recommendations/topics.ts'
import type {
  Interaction,
  RecommendationUser,
  ServedRecommendations,
  UserPreferences,
  UserState,
} from '../../../schemas/recommendations/types.ts'
import {
  avro,
  avroValue,
  type Context,
  deadLetter,
  decimalId,
  drop,
  packedStore,
  type RecordContext,
  seenSetStore,
  timerStore,
  topology,
} from '../../engine/index.ts'
import { activities } from './activities.ts'
import { eventFault, preferencesFault, timeFault, userFault } from './event-fault.ts'
import { isOwnList, withList } from './own-lists.ts'
import { rememberedUntil, withEvent } from './recent-events.ts'
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
} from './user-state.ts'

/**
 * Policy for records on which a processor fails or whose output cannot be written. They become dead letters, so that
 * one bad record does not hold up all other users.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const

const FORGET_EVERY_MS = 10_000
const FORGOTTEN_PER_TICK = 500
/** Commit interval. It is long enough for several events of one user or item to share a commit. */
const COMMIT_INTERVAL_MS = 100

/**
 * Computes the features of users and the activities of items, from users' interactions, properties and preferences, and
 * from the lists that users have seen.
 */
export const userFeaturesTopology = topology(
  'user-features',
  function declareUserFeatures(t) {
    const users = packedStore('users', { key: decimalId, value: avro('recommendations/UserState') })
    const recent = packedStore('recent-events', { key: decimalId, value: avroValue<Buffer>('bytes') })
    const lists = packedStore('lists', { key: decimalId, value: avroValue<Buffer>('bytes') })
    const watched = seenSetStore('watched', { key: decimalId, item: decimalId, ...WATCHED_SHAPE, collectChanges: true })
    const idle = timerStore('idle', { key: decimalId })
    const stores = [users, recent, lists, watched, idle]
    const emits = [userFeatures, itemEvents]
    const reads = (_value: unknown, key: bigint) => users.prefetch(key)

    const happened = activities()
    /** Users whose records are emitted with the next commit. */
    let changed = new Set<bigint>()

    function keep(userId: bigint, user: UserState): void {
      users.put(userId, user)
      changed.add(userId)
    }

    function takeInteraction(event: Interaction, ctx: RecordContext<bigint>) {
      const userId = ctx.key
      const fault = eventFault(event, ctx.timestamp)
      if (fault !== undefined) return deadLetter('bad_event', fault)
      const events = withEvent(recent.get(userId), event.event_id, ctx.timestamp)
      if (events === undefined) return drop('repeated_event')
      recent.put(userId, events)
      const before = users.get(userId) ?? NEW_USER
      if (event.event_type === 'NOT_INTERESTED') {
        forgetLater(userId, before, ctx.timestamp)
        keep(userId, withHidden(before, event, ctx.offset))
        return
      }
      const after = withInteraction(before, event, ctx.offset)
      if (isWatched(event)) watched.add(userId, event.item_id, event.timestamp)
      const followsList = event.rec_request_id !== null && isOwnList(lists.get(userId), event.rec_request_id)
      happened.addInteraction(event, before, after, followsList)
      // The timer is set by the first event after a pause. When it is due, the handler checks the time of the last
      // event.
      if (before.last_event_at === null) idle.schedule(userId, event.timestamp + FORGET_AFTER_MS)
      keep(userId, after)
    }

    function takeServed(served: ServedRecommendations, ctx: RecordContext<bigint>) {
      const fault = timeFault(served.served_at, ctx.timestamp)
      if (fault !== undefined) return deadLetter('bad_list', fault)
      for (const { item_id } of served.items) happened.addShown(item_id, served.served_at)
      const known = withList(lists.get(ctx.key), served.request_id)
      if (known !== undefined) lists.put(ctx.key, known)
      const before = users.get(ctx.key) ?? NEW_USER
      forgetLater(ctx.key, before, served.served_at)
      keep(ctx.key, withServed(before, served))
    }

    /**
     * Sets the timer for a user without interactions for whom other data is kept: ids of `NOT_INTERESTED` events, or
     * lists that were served to the user.
     */
    function forgetLater(userId: bigint, user: UserState, at: number): void {
      if (user.last_event_at === null && idle.dueTime(userId) === undefined) idle.schedule(userId, at + FORGET_AFTER_MS)
    }

    function takeUser(record: RecommendationUser | null, ctx: RecordContext<bigint>) {
      const fault = record === null ? undefined : userFault(record)
      if (fault !== undefined) return deadLetter('bad_user', fault)
      const after = withUser(users.get(ctx.key) ?? NEW_USER, record)
      if (after === undefined) return drop('older_record')
      keep(ctx.key, after)
    }

    function takePreferences(record: UserPreferences | null, ctx: RecordContext<bigint>) {
      const fault = record === null ? undefined : preferencesFault(record)
      if (fault !== undefined) return deadLetter('bad_preferences', fault)
      const after = withPreferences(users.get(ctx.key) ?? NEW_USER, record)
      if (after === undefined) return drop('older_record')
      keep(ctx.key, after)
    }

    /**
     * Forgets the remembered events of a user. If the last of them arrived less than a day ago, sets the timer again
     * instead. The time of arrival counts, because an event's own time may be much older.
     */
    function forgetEvents(userId: bigint, now: number): void {
      const events = recent.get(userId)
      const until = events === undefined ? now : rememberedUntil(events)
      if (until > now) idle.schedule(userId, until)
      else recent.delete(userId)
    }

    function forgetVisits(now: number): void {
      for (const { key } of idle.takeDue(now, FORGOTTEN_PER_TICK)) {
        const user = users.get(key)
        const lastAt = user?.last_event_at ?? newestTime(user?.shown ?? NO_ITEMS)
        if (lastAt !== undefined && lastAt + FORGET_AFTER_MS > now) {
          idle.schedule(key, lastAt + FORGET_AFTER_MS)
          continue
        }
        if (user !== undefined && lastAt !== undefined) keep(key, withoutVisit(user))
        lists.delete(key)
        forgetEvents(key, now)
      }
    }

    /** Emits one record per commit for each user, page and item that has changed, and several for a very hot item. */
    function show(ctx: Context): void {
      for (const { key: userId, page, bytes } of watched.takeChanges()) {
        const value = bytes === undefined ? null : { page: bytes, self: null }
        ctx.emit(userFeatures, pageKey(userId, page), value, { partitionBy: String(userId), timestamp: ctx.now })
      }
      for (const userId of changed) {
        const self = selfOf(users.get(userId) ?? NEW_USER)
        ctx.emit(userFeatures, selfKey(userId), { page: null, self }, { partitionBy: String(userId), timestamp: ctx.now })
      }
      changed = new Set()
      for (const [itemId, activity] of happened.take()) ctx.emit(itemEvents, itemId, activity, { timestamp: ctx.now })
    }

    t.source(interactions, { onError: SKIPPED })
      .process(
        'take-interaction',
        {
          reads({ item_id, rec_request_id }, userId) {
            if (rec_request_id !== null) lists.prefetch(userId)
            users.prefetch(userId)
            recent.prefetch(userId)
            watched.prefetch(userId, item_id)
          },
          stores,
          emits,
        },
        takeInteraction,
      )
      .tick('forget-visits', { everyMs: FORGET_EVERY_MS, clock: 'wall', stores, emits }, forgetVisits)
      .tick('forget-watched', { everyMs: FORGET_EVERY_MS, clock: 'wall', stores: [watched] }, (now) => {
        watched.expire(now, FORGOTTEN_PER_TICK)
      })
      .beforeCommit('show', { stores, emits }, show)
    t.source(recommendationsServed, { onError: SKIPPED }).process(
      'take-served',
      {
        reads(_served, userId) {
          users.prefetch(userId)
          lists.prefetch(userId)
        },
        stores,
        emits,
      },
      takeServed,
    )
    t.source(recommendationUsers, { onError: SKIPPED, tombstones: 'deliver' }).process('take-user', { reads, stores, emits }, takeUser)
    t.source(userPreferences, { onError: SKIPPED, tombstones: 'deliver' }).process(
      'take-preferences',
      { reads, stores, emits },
      takePreferences,
    )
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
