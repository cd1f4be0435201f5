import type { Decision } from '../../../schemas/commands/topics.ts'
import { isRecordId, pageKey, relationKey, selfKey } from '../../../schemas/matches/keys.ts'
import { pairKey } from '../../../schemas/matches/pair.ts'
import { SWIPE_KEPT_MS } from '../../../schemas/matches/retention.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import {
  eventsKept,
  locationUpdates,
  matchIndex,
  matchProfiles,
  matchSeen,
  matchSwipes,
  pairSwipes,
  swipeEvents,
} from '../../../schemas/matches/topics.ts'
import type {
  DesirabilitySwipe,
  IncludedSwipe,
  LocationUpdate,
  MatchProfile,
  MatchUser,
  SwipeEvent,
} from '../../../schemas/matches/types.ts'
import { erasableKept } from '../../../schemas/retention.ts'
import { isPossibleTime } from '../../../state/tables/time.ts'
import { eloAfter } from '../../../state/views/matches/candidates/desirability.ts'
import { ACTIVE_WITHIN_MS } from '../../../state/views/matches/candidates/filters.ts'
import { indexCellOf } from '../../../state/views/matches/candidates/index-member.ts'
import {
  avro,
  type Context,
  deadLetter,
  drop,
  keyedStore,
  type RecordContext,
  ROLL_EVERY_MS,
  ROLL_KEY,
  rolling,
  seenSetStore,
  sweep,
  timerStore,
  topology,
  utf8,
  walk,
} from '../../engine/index.ts'
import { indexEntry } from './index-entry.ts'
import { isNewPlace, isPlaceOrNone } from './places.ts'
import { applySwipe } from './swipes.ts'
import { isShown, isVoid, NEW_USER, selfOf, withoutOldSwipes, withProfile } from './user-state.ts'

/**
 * Policy for records from clients. A swipe or location on which a processor fails, or whose output cannot be written,
 * becomes a dead letter, so that it does not block the records of other users.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const
/** Policy for records that the topology itself writes. A bad record there is a bug, so the worker stops. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

const BAD_ID = deadLetter('bad_user_id', 'a user id is not a lower-case UUID, or the key of a swipe is not its swiper_id')
/** ClickHouse cannot store such a swipe, and the sink would try to insert the swipe's batch again and again. */
const BAD_SWIPE = deadLetter('bad_swipe', 'the swipe id is not a lower-case UUID, or the duration or position is negative')
/**
 * A time in the distant future, for example a time in microseconds, would make all later events of the user
 * ineffective.
 */
const BAD_TIME = deadLetter('bad_time', 'the time is not between 1970 and 2106')

const BY_USER = { partitions: 1, productionPartitions: 200 }

/**
 * Maximum number of rewound targets per user. They are stored as exceptions, because items cannot be removed from the
 * seen-set.
 */
const MAX_EXCEPTIONS = 50
const EXCEPTION_MS = 30 * 24 * 3_600_000

const SWEEP_EVERY_MS = 1_000
const SWEPT_PER_TICK = 1_000
/** A pass over all swipes, or over all users, begins at most once in each period of this length. */
const WALK_EVERY_MS = 3_600_000

/**
 * How long swipes wait for the profile of their swiper, counted from the first of them. The API accepts a swipe without
 * a check while Redis does not respond, so a user without a profile may have made the swipe. A worker may also read a
 * swipe before the profile of the swiper, although the profile was created first, because the two are in different
 * topics.
 */
const WAIT_FOR_PROFILE_MS = 600_000

/**
 * Maximum number of inactive users whom one tick removes from the index. It is limited, because swipes wait until the
 * tick ends.
 */
const LEAVING_PER_TICK = 500
const LEAVE_EVERY_MS = 10_000

/**
 * Commit interval. It is long enough for several swipes on one target, and several changes of a user's pages, to share
 * a commit.
 */
const COMMIT_INTERVAL_MS = 200

/**
 * Builds the candidate index, the seen-sets and the scores from each user's profile, locations and swipes. Passes on
 * the swipes that may change a pair.
 */
export const matchUsers = topology(
  'match-users',
  function declareUsers(t) {
    const located = t.repartition('located', {
      key: utf8,
      value: avro('matches/LocationUpdate'),
      ...BY_USER,
      config: erasableKept,
      erases: true,
    })
    const scored = t.repartition('scored', {
      key: utf8,
      value: avro('matches/DesirabilitySwipe'),
      ...BY_USER,
      config: eventsKept,
      erases: true,
    })

    t.source(locationUpdates, { onError: SKIPPED }).process('locate', { emits: [located] }, function locate(update, ctx) {
      if (!isRecordId(update.user_id)) return BAD_ID
      if (!isPlaceOrNone(update)) return deadLetter('bad_place', 'the coordinates are out of range, or only one of them is given')
      if (!isPossibleTime(update.ts)) return BAD_TIME
      ctx.emit(located, update.user_id, update)
    })

    const users = keyedStore('users', { key: utf8, value: avro('matches/MatchUser'), erasable: true })
    const swipes = keyedStore('swipes', { key: utf8, value: avro('matches/SwipeRow') })
    const seen = seenSetStore('seen', { key: utf8, item: utf8, ...SEEN_SHAPE, collectChanges: true })
    const idle = timerStore('idle', { key: utf8 })
    const erasing = timerStore('erasing', { key: utf8 })
    /** Swipes by users without a profile. The key is the swiper and the id of the swipe. */
    const waiting = keyedStore('waiting', { key: utf8, value: avro('matches/SwipeEvent') })
    /**
     * Users who have rows in `waiting`, or whose location waits in `users` for a new profile, and the time at which
     * these are dropped.
     */
    const waitingUsers = timerStore('waiting-users', { key: utf8 })
    const stores = [users, swipes, seen, idle, erasing, waiting, waitingUsers]
    const emits = [matchIndex, matchSeen, matchSwipes, pairSwipes, scored]
    const logs = rolling()

    /**
     * Users whose record in `match-seen` is emitted before the next commit, with the swipes that the record includes.
     */
    let shown = new Map<string, IncludedSwipe[]>()

    function show(userId: string, swipe?: SwipeEvent): void {
      const swipes = shown.get(userId) ?? []
      if (swipe !== undefined) swipes.push({ target_id: swipe.target_id, swipe_id: swipe.swipe_id, ts: swipe.ts })
      shown.set(userId, swipes)
    }

    function userOf(userId: string): MatchUser {
      return users.get(userId) ?? NEW_USER
    }

    /** Stores a user, and updates the user's entry in the index and the timer that removes it. */
    function keep(userId: string, user: MatchUser, ctx: Context): void {
      const index_key = indexEntry(userId, user, ctx.now, users.get(userId))
      if (index_key !== user.index_key) {
        // The new entry is emitted first. If both entries are in one partition, the user is therefore never missing
        // from the index; readers keep the newer of the two entries.
        if (index_key !== null) ctx.emit(matchIndex, index_key, { user_id: userId }, { partitionBy: indexCellOf(index_key) })
        if (user.index_key !== null) ctx.emit(matchIndex, user.index_key, null, { partitionBy: indexCellOf(user.index_key) })
      }
      if (index_key === null) idle.cancel(userId)
      else if (user.index_key === null) idle.schedule(userId, user.last_active_at + ACTIVE_WITHIN_MS)
      if (index_key !== user.index_key) show(userId)
      users.put(userId, { ...user, index_key })
    }

    function takeProfile({ view }: Decision<MatchProfile>, ctx: RecordContext<string>): void {
      if (view === null) return
      if (view.deleted_at !== null) {
        seen.delete(view.user_id)
        erasing.schedule(view.user_id, ctx.now)
        users.scrub()
        logs.erased(ctx.now)
      }
      show(view.user_id)
      const known = userOf(view.user_id)
      const user = withProfile(known, view)
      const last_active_at = view.deleted_at === null ? Math.max(user.last_active_at, view.updated_at) : user.last_active_at
      keep(view.user_id, { ...user, last_active_at }, ctx)
      if (user.has_profile && !known.has_profile) takeWaiting(view.user_id, ctx)
    }

    /** Applies the swipes that a user made before the user's profile was known, oldest first. */
    function takeWaiting(userId: string, ctx: RecordContext<string>): void {
      const found = [...waiting.scan(waitingOf(userId))]
      for (const [key] of found) waiting.delete(key)
      waitingUsers.cancel(userId)
      const events = found.map(([, event]) => event).filter(({ ts }) => !isVoid(userOf(userId), ts))
      for (const event of events.toSorted((one, other) => one.ts - other.ts)) applyOf(event, ctx)
    }

    /** Returns the range of a user's rows in `waiting`. */
    function waitingOf(userId: string) {
      return { prefix: Buffer.from(relationKey(userId, '')) }
    }

    function takePlace({ user_id, lat, lon, ts }: LocationUpdate, ctx: RecordContext<string>) {
      const known = userOf(user_id)
      // A location from after a deletion may belong to a new profile that this worker reads later, so it waits.
      if (ts <= (known.deleted_at ?? -1)) return drop('before_deletion')
      if (isVoid(known, ts)) scheduleGivingUp(user_id, ctx)
      const active = { ...known, last_active_at: Math.max(known.last_active_at, ts) }
      show(user_id)
      keep(user_id, isNewPlace(known, { lat, lon, ts }) ? { ...active, lat, lon, location_updated_at: ts } : active, ctx)
    }

    function takeSwipe(event: SwipeEvent, ctx: RecordContext<string>) {
      const { swiper_id, target_id, ts } = event
      // A record whose key is not the swiper may be in a different partition, where no reader looks for the swiper's
      // state.
      if (ctx.key !== swiper_id || !isRecordId(swiper_id) || !isRecordId(target_id)) return BAD_ID
      if (!isRecordId(event.swipe_id) || (event.duration_ms ?? 0) < 0 || (event.position ?? 0) < 0) return BAD_SWIPE
      if (!isPossibleTime(ts)) return BAD_TIME
      const swiper = userOf(swiper_id)
      if (swiper_id === target_id) return drop('swipe_at_oneself')
      // Only a swipe from before the deletion is dropped. A later swipe may belong to a new profile that this worker
      // has not read yet, so it waits.
      if (ts <= (swiper.deleted_at ?? -1)) {
        // The API may have noted this swipe for a new profile, and keeps its note until a record includes the swipe.
        show(swiper_id, event)
        return drop('before_deletion')
      }
      if (swiper.has_profile) return applyOf(event, ctx)
      waiting.put(relationKey(swiper_id, event.swipe_id), event)
      scheduleGivingUp(swiper_id, ctx)
    }

    /**
     * Limits how long the events of a user without a profile wait. The first of these events sets the timer. If each
     * event set it again, a user who goes on swiping could store any number of swipes.
     */
    function scheduleGivingUp(userId: string, ctx: Context): void {
      if (waitingUsers.dueTime(userId) === undefined) waitingUsers.schedule(userId, ctx.now + WAIT_FOR_PROFILE_MS)
    }

    /** Applies a swipe by a user with a profile. */
    function applyOf(event: SwipeEvent, ctx: RecordContext<string>) {
      const { swiper_id, target_id, direction, ts } = event
      const swiper = userOf(swiper_id)
      const key = relationKey(swiper_id, target_id)
      const known = swipes.get(key)
      // Rows of a deleted profile are removed in steps, so an old row may still be there.
      const effect = applySwipe(known !== undefined && isVoid(swiper, known.ts) ? undefined : known, event)
      if (effect === undefined) {
        // The API keeps its note of this swipe until a record includes the swipe.
        show(swiper_id, event)
        return drop('swipe_without_effect')
      }
      swipes.put(key, effect.row)
      const others = swiper.exceptions.filter((exception) => exception.target_id !== target_id && exception.rewound_at > ts - EXCEPTION_MS)
      const rewound = direction === 'REWIND' ? [...others, { target_id, rewound_at: ts }].slice(-MAX_EXCEPTIONS) : others
      if (direction !== 'REWIND') seen.add(swiper_id, target_id, ts)
      show(swiper_id, event)
      if (effect.concernsPair) {
        ctx.emit(pairSwipes, pairKey(swiper_id, target_id), { swipe_id: event.swipe_id, swiper_id, target_id, direction, ts })
      }
      if (effect.scores !== undefined) ctx.emit(scored, target_id, { swiper_elo: swiper.elo_score, direction: effect.scores, ts })
      if (effect.counts) ctx.emit(matchSwipes, swiper_id, event)
      const { swipe_id } = event
      const last = swiper.last_swipe
      const last_swipe = last !== null && last.ts > ts ? last : { swipe_id, target_id, direction, ts }
      keep(swiper_id, { ...swiper, exceptions: rewound, last_swipe, last_active_at: Math.max(swiper.last_active_at, ts) }, ctx)
    }

    function takeScore({ swiper_elo, direction, ts }: DesirabilitySwipe, ctx: RecordContext<string>) {
      const target = userOf(ctx.key)
      if (!target.has_profile || isVoid(target, ts)) return drop('no_such_target')
      keep(ctx.key, { ...target, elo_score: eloAfter(target.elo_score, swiper_elo, direction) }, ctx)
    }

    /**
     * Removes inactive users from the index. A user whose timer is due may still be active, because activity does not
     * move the timer.
     */
    function leave(now: number, ctx: Context): void {
      for (const { key } of idle.takeDue(now, LEAVING_PER_TICK)) {
        const user = users.get(key)
        if (user === undefined) continue
        const due = user.last_active_at + ACTIVE_WITHIN_MS
        if (due > now) idle.schedule(key, due)
        else keep(key, user, ctx)
      }
    }

    /** Removes some swipes of one deleted user. Swipes of a new profile stay. */
    function erase(now: number): void {
      const [first] = erasing.due(now, 1)
      if (first === undefined) return
      const deletedAt = users.get(first.key)?.deleted_at ?? now
      const old: string[] = []
      for (const [key, { ts }] of swipes.scan({ prefix: Buffer.from(relationKey(first.key, '')) })) {
        if (ts <= deletedAt && old.push(key) === SWEPT_PER_TICK) break
      }
      for (const key of old) swipes.delete(key)
      if (old.length < SWEPT_PER_TICK) erasing.cancel(first.key)
    }

    /**
     * Makes the broker compact the records of deleted users. Every partition of the index may contain a tombstone whose
     * key shows where such a user has been.
     */
    function rollLogs(now: number, ctx: Context): void {
      if (!logs.isNeeded(now)) return
      users.roll()
      ctx.emit(matchSeen, ROLL_KEY, null, { partition: ctx.partition, timestamp: now })
      ctx.broadcast(matchIndex, ROLL_KEY, null, { timestamp: now })
    }

    /**
     * Drops some of the waiting swipes of one user without a profile. With the last of them, also drops the user's
     * waiting location if the user's earlier profile was deleted.
     */
    function giveUp(now: number): void {
      const [first] = waitingUsers.due(now, 1)
      if (first === undefined) return
      const keys = Array.from(waiting.scan({ ...waitingOf(first.key), limit: SWEPT_PER_TICK }), ([key]) => key)
      for (const key of keys) waiting.delete(key)
      if (keys.length === SWEPT_PER_TICK) return
      waitingUsers.cancel(first.key)
      const user = userOf(first.key)
      if (isShown(user) || user.last_active_at === NEW_USER.last_active_at) return
      users.put(first.key, { ...NEW_USER, deleted_at: user.deleted_at })
      users.scrub()
      logs.erased(now)
    }

    /**
     * Emits one record for each page that changed since the last commit, however many swipes changed it, and one record
     * for each user in `shown`.
     */
    function showChanges(ctx: Context): void {
      for (const { key: userId, page, bytes } of seen.takeChanges()) {
        const value = bytes === undefined ? null : { page: bytes, swipes: [], self: null }
        ctx.emit(matchSeen, pageKey(userId, page), value, { partitionBy: userId, timestamp: ctx.now })
      }
      const emitted = shown
      // A cleared map would keep the objects of earlier commits alive.
      shown = new Map()
      for (const [userId, swipes] of emitted) {
        const user = userOf(userId)
        const value = isShown(user) ? { page: null, swipes, self: selfOf(user) } : null
        ctx.emit(matchSeen, selfKey(userId), value, { partitionBy: userId, timestamp: ctx.now })
      }
    }

    const forgetting = sweep(swipes, { keysPerRun: SWEPT_PER_TICK, isExpired: (_key, { ts }) => ts < forgetBefore })
    let forgetBefore = 0
    const outdated = walk(users, { keysPerRun: SWEPT_PER_TICK, isWanted: (_id, user) => withoutOldSwipes(user, forgetBefore) !== user })

    /**
     * Removes swipes that are older than `SWIPE_KEPT_MS`. Also removes last swipes and rewinds of that age from the
     * states of users. Each call visits only some of the keys.
     */
    function forgetSwipes(now: number): void {
      forgetBefore = now - SWIPE_KEPT_MS
      const period = Math.floor(now / WALK_EVERY_MS)
      forgetting.run(period)
      for (const [userId, user] of outdated.run(period)) {
        users.put(userId, withoutOldSwipes(user, forgetBefore))
        show(userId)
      }
    }

    t.source(matchProfiles, { tombstones: 'drop' }).process(
      'take-profile',
      { reads: (_decision, key) => users.prefetch(key), stores, emits },
      takeProfile,
    )
    t.source(located, INTERNAL).process('take-place', { reads: (_update, key) => users.prefetch(key), stores, emits }, takePlace)
    t.source(swipeEvents, { onError: SKIPPED })
      .process(
        'take-swipe',
        {
          reads({ swiper_id, target_id }) {
            users.prefetch(swiper_id)
            swipes.prefetch(relationKey(swiper_id, target_id))
            seen.prefetch(swiper_id, target_id)
          },
          stores,
          emits,
        },
        takeSwipe,
      )
      .tick('leave-index', { everyMs: LEAVE_EVERY_MS, clock: 'wall', stores, emits }, leave)
      .tick('forget-swipes', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [users, swipes] }, forgetSwipes)
      .tick('erase-swipes', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [users, swipes, erasing] }, erase)
      .tick('roll-logs', { everyMs: ROLL_EVERY_MS, clock: 'wall', stores, emits }, rollLogs)
      .tick('give-up', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [users, waiting, waitingUsers] }, giveUp)
      .tick('forget-seen', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [seen] }, (now) => void seen.expire(now, SWEPT_PER_TICK))
      .beforeCommit('show-changes', { stores: [users, seen], emits: [matchSeen] }, showChanges)
    t.source(scored, INTERNAL).process('take-score', { reads: (_swipe, key) => users.prefetch(key), stores, emits }, takeScore)
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false, erasesIds: true },
)
