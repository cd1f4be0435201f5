import { isPositive } from '../../../schemas/matches/directions.ts'
import { type PairAnswer, pairFlow } from '../../../schemas/matches/flow.ts'
import { relationKey } from '../../../schemas/matches/keys.ts'
import { conversationIdOf, matchIdOf, type Pair, pairKey, pairOf, parsePairKey } from '../../../schemas/matches/pair.ts'
import { SWIPE_KEPT_MS } from '../../../schemas/matches/retention.ts'
import { matchDeletions, matchEvents, matchNotifications, matchRelations, pairSwipes } from '../../../schemas/matches/topics.ts'
import type { MatchDeletion, MatchRelation, PairCommand, PairRow, PairSwipe } from '../../../schemas/matches/types.ts'
import {
  avro,
  type Context,
  DECIDING_BESIDE_BULK,
  decideCommands,
  drop,
  keyedStore,
  packedStore,
  type RecordContext,
  rawValue,
  timerStore,
  topology,
  utf8,
  walk,
} from '../../engine/index.ts'
import { decidePair } from './decide.ts'
import { type Leaving, leavingKey, parseLeavingKey } from './leaving.ts'
import { canTakeEffect, EMPTY_PAIR, isBlank, isMatched, sideOf, withoutOldSwipes, withoutUser, withSwipe } from './pair-state.ts'
import { isSameRelation, nothingOf, type Related, relationOf } from './relation.ts'

/**
 * Interval between ticks that clear pairs of deleted users. A user may have many pairs, and swipes must not wait for
 * all of them to be cleared.
 */
const LEAVE_EVERY_MS = 1_000
const PAIRS_PER_TICK = 500
/**
 * Number of pairs that one scan reads. Must be more than one, because each scan starts with the last pair of the
 * previous scan and would otherwise not advance.
 */
const PAIRS_PER_STEP = 100
/**
 * A scan that finds fewer pairs than this counts as this number of cleared pairs, because even an empty scan takes as
 * long as clearing this many.
 */
const PAIRS_PER_SCAN = 5
/**
 * Number of pairs that each tick checks for old swipes. It is limited, because swipes and commands wait while a tick
 * runs.
 */
const CHECKED_PER_TICK = 1_000
const CHECK_EVERY_MS = 1_000
/** A pass over all pairs begins at most once in each period of this length. */
const WALK_EVERY_MS = 3_600_000
/**
 * How long the time of a deletion is kept. The topic keeps swipes for only seven days, so after this time, no swipe
 * from before the deletion can arrive.
 */
const DELETION_REMEMBERED_MS = 8 * 24 * 3_600_000

/** Two times in the history of a pair, epoch ms; 0 means never. */
interface Times {
  /** When the former match ended. */
  readonly endedAt: number
  /** The `counts_from` of the changed row. */
  readonly countsFrom: number
}

/**
 * The only topology that creates matches. One partition receives everything about a pair, so the likes, rewinds and
 * blocks of both users have a single order.
 */
export const matchPairs = topology(
  'match-pairs',
  function declarePairs(t) {
    // Most rows are written once and rarely read again, so they are kept in memory as bytes.
    const pairs = packedStore('pairs', { key: utf8, value: avro('matches/PairRow') })
    /**
     * Index of pairs, keyed by the user with the higher id. The key of a pair starts with the lower id, so the user
     * with the lower id needs no index.
     */
    const partners = packedStore('partners', { key: utf8, value: rawValue(utf8), cacheBytes: 0 })
    const deleted = keyedStore('deleted', { key: utf8, value: avro('matches/PairUser'), sparse: true })
    const leaving = timerStore('leaving', { key: utf8 })
    const forgetting = timerStore('forgetting', { key: utf8 })
    const emits = [matchEvents, matchNotifications, matchRelations]

    /**
     * Completes a change of a pair. Adds a new pair to `partners`. Emits the changed relations of both users, the event
     * of a new match and, once per user and match, the push.
     * @param stored the row before the change; undefined if there was none
     * @param before the row with which `after` is compared to find out whether the match is new
     * @returns the row after the change, in which both users of a match count as notified
     */
    function follow(pair: Pair, stored: PairRow | undefined, before: PairRow, after: PairRow, ctx: Context): PairRow {
      if (stored === undefined) partners.put(relationKey(pair.b, pair.a), '')
      const conversationId = conversationOf(pair, stored ?? EMPTY_PAIR, after)
      relateBoth(pair, stored ?? EMPTY_PAIR, after, conversationId, ctx)
      return isMatched(after) ? notify(pair, before, after, conversationId, ctx) : after
    }

    /** Returns the id of a pair's conversation; null if the pair has a match neither before nor after a change. */
    function conversationOf({ a, b }: Pair, before: PairRow, after: PairRow): string | null {
      return (after.match_id ?? before.match_id) === null ? null : conversationIdOf(a, b)
    }

    /**
     * Returns a row without the actions of deleted users. The stored row may still contain them, because stored rows
     * are cleared in steps.
     */
    function withoutDeleted(row: PairRow, a: string, b: string): PairRow {
      const [ofA, ofB] = [deleted.get(a), deleted.get(b)]
      const left = ofA === undefined ? row : withoutUser(row, 'a', ofA.deleted_at)
      return ofB === undefined ? left : withoutUser(left, 'b', ofB.deleted_at)
    }

    /** After a change of the pair, emits each user's relation to the other user, if it has changed. */
    function relateBoth({ a, b }: Pair, before: PairRow, after: PairRow, conversationId: string | null, ctx: Context): void {
      for (const userId of [a, b]) {
        const people = { userId, otherId: userId === a ? b : a }
        const relation = relationOf(after, people, conversationId, ctx.now)
        const former = relationOf(before, people, conversationId, ctx.now)
        if (isSameRelation(relation, former)) continue
        const key = relationKey(userId, people.otherId)
        const to = { partitionBy: userId, timestamp: ctx.now }
        const lifted = former && liftedBy(former, relation, people, { endedAt: before.ended_at ?? 0, countsFrom: after.counts_from })
        // A tombstone has no value, so a separate record before it contains the times up to which notes are lifted.
        if (lifted) ctx.emit(matchRelations, key, { ...(relation ?? nothingOf(people, ctx.now)), ...lifted }, to)
        if (!lifted || relation === null) ctx.emit(matchRelations, key, relation, to)
      }
    }

    /**
     * A change of a pair may lift the API's notes about a block or an ended match. Returns the times up to which notes
     * are lifted. Later notes stay, because they are about later decisions. A slow API process may store its note about
     * a block after the block was already lifted. The time therefore stays in the user's notes and makes such a late
     * note ineffective. When a user is deleted, only this record can lift the notes of the other user, because the
     * deletion itself is processed in the partition of the deleted user.
     */
    function liftedBy(former: MatchRelation, relation: MatchRelation | null, { userId, otherId }: Related, { endedAt, countsFrom }: Times) {
      const isReopened = former.has_ended && !relation?.has_ended
      const isUnblocked = former.is_blocked && !relation?.is_blocked
      const isReleased = former.blocks && !relation?.blocks
      if (!isReopened && !isUnblocked && !isReleased) return undefined
      const [otherLeft, ownLeft] = [deleted.get(otherId)?.deleted_at ?? 0, deleted.get(userId)?.deleted_at ?? 0]
      return {
        unblocked_until: isUnblocked ? countsFrom : null,
        // A deleted user no longer has notes.
        released_until: isReleased && ownLeft < countsFrom ? countsFrom : null,
        reopened_until: isReopened ? Math.max(otherLeft, ownLeft, endedAt) : null,
      }
    }

    function notify({ a, b }: Pair, before: PairRow, after: PairRow, conversationId: string | null, ctx: Context): PairRow {
      const match = {
        match_id: after.match_id ?? matchIdOf(a, b),
        conversation_id: conversationId ?? conversationIdOf(a, b),
        matched_at: after.matched_at ?? ctx.now,
      }
      if (!isMatched(before)) ctx.emit(matchEvents, match.match_id, { ...match, user_a: a, user_b: b }, { timestamp: ctx.now })
      let row = after
      for (const [side, userId, otherId] of [['a', a, b] as const, ['b', b, a] as const]) {
        if (row[side].was_notified) continue
        ctx.emit(matchNotifications, userId, { ...match, user_id: userId, other_id: otherId }, { timestamp: ctx.now })
        row = { ...row, [side]: { ...row[side], was_notified: true } }
      }
      return row
    }

    const deciding = decideCommands<PairCommand, PairRow, PairRow, PairAnswer>(t, {
      flow: pairFlow,
      store: pairs,
      decide(known, command, facts) {
        const { a, b } = pairOf(command.actor_id, command.other_id)
        return decidePair(known && withoutDeleted(known, a, b), command, facts)
      },
      view: () => null,
      changed({ key, before, after }, ctx) {
        if (after === undefined) return
        const followed = follow(parsePairKey(key), before, before ?? EMPTY_PAIR, after, ctx)
        if (followed !== after) pairs.put(key, followed)
      },
      emits,
      stores: [partners, deleted, leaving, forgetting],
    })

    function takeSwipe(swipe: PairSwipe, ctx: RecordContext<string>) {
      const { swiper_id, target_id, direction, ts } = swipe
      const stored = pairs.get(ctx.key)
      const known = stored ?? EMPTY_PAIR
      if (!isPositive(direction) && !canTakeEffect(known, swipe)) return drop('swipe_without_effect')
      if (isVoid(swiper_id, ts) || isVoid(target_id, ts)) return drop('before_deletion')
      const pair = pairOf(swiper_id, target_id)
      const before = stored === undefined ? known : withoutDeleted(stored, pair.a, pair.b)
      if (!canTakeEffect(before, swipe)) return drop('swipe_without_effect')
      pairs.put(ctx.key, follow(pair, stored, before, withSwipe(before, swipe), ctx))
    }

    function isVoid(userId: string, ts: number): boolean {
      return ts <= (deleted.get(userId)?.deleted_at ?? -1)
    }

    t.source(pairSwipes).process(
      'take-swipe',
      {
        reads({ swiper_id, target_id, direction }, key) {
          pairs.prefetch(key)
          if (!isPositive(direction)) return
          deleted.prefetch(swiper_id)
          deleted.prefetch(target_id)
        },
        stores: deciding.stores,
        emits,
      },
      takeSwipe,
    )

    function beginToLeave({ user_id, deleted_at }: MatchDeletion, ctx: RecordContext<string>): void {
      deleted.put(user_id, { deleted_at })
      leaving.schedule(user_id, ctx.now)
      forgetting.schedule(user_id, deleted_at + DELETION_REMEMBERED_MS)
    }

    /**
     * Clears some pairs of deleted users. Every partition receives every deletion, so for most users a partition has
     * few pairs or none.
     */
    function leave(now: number, ctx: Context): void {
      for (let left = PAIRS_PER_TICK; left > 0; ) {
        const [first] = leaving.due(now, 1)
        if (first === undefined) return
        const { next, found } = clearSome(parseLeavingKey(first.key), now, ctx)
        leaving.cancel(first.key)
        if (next !== undefined) leaving.schedule(leavingKey(next), first.due)
        left -= Math.max(found, PAIRS_PER_SCAN)
      }
    }

    /**
     * Clears the next pairs of a deleted user.
     * @returns the number of pairs that were found, and the next step as `next`; after the last step, `next` is
     * undefined
     */
    function clearSome(step: Leaving, now: number, ctx: Context): { readonly found: number; readonly next: Leaving | undefined } {
      const { userId, among, after } = step
      const deletedAt = deleted.get(userId)?.deleted_at ?? now
      const prefix = relationKey(userId, '')
      const range = { prefix: Buffer.from(prefix), gte: after, limit: PAIRS_PER_STEP }
      const found = Array.from<[string, unknown]>(among === 'pairs' ? pairs.scan(range) : partners.scan(range))
      for (const [key] of found) clear(userId, key.slice(prefix.length), deletedAt, ctx)
      const last = found.at(-1)
      const rest: Leaving | undefined = among === 'pairs' ? { userId, among: 'partners', after: prefix } : undefined
      const isFull = found.length === PAIRS_PER_STEP && last !== undefined
      return { found: found.length, next: isFull ? { userId, among, after: last[0] } : rest }
    }

    /**
     * Clears one pair. The entry in `partners` stays as long as the row, so that a later deletion finds the pair again.
     */
    function clear(userId: string, otherId: string, deletedAt: number, ctx: Context): void {
      const { a, b } = pairOf(userId, otherId)
      const before = pairs.get(pairKey(a, b))
      const after = before && withoutUser(before, sideOf(userId, otherId), deletedAt)
      if (before === undefined || after === undefined) partners.delete(relationKey(b, a))
      else reduce({ a, b }, before, after, deletedAt, ctx)
      // Earlier versions had entries for both users.
      partners.delete(relationKey(a, b))
    }

    /**
     * Stores what remains of a pair, or deletes it if nothing remains. Emits the changed relations of both users.
     * @param until swipes up to this time have no effect
     */
    function reduce(pair: Pair, before: PairRow, after: PairRow, until: number, ctx: Context): void {
      const key = pairKey(pair.a, pair.b)
      if (isBlank(after, until)) {
        pairs.delete(key)
        partners.delete(relationKey(pair.b, pair.a))
      } else if (after !== before) pairs.put(key, after)
      relateBoth(pair, before, after, conversationOf(pair, before, after), ctx)
    }

    let forgetBefore = 0
    const isOutdated = (row: PairRow) => withoutOldSwipes(row, forgetBefore) !== row || isBlank(row, forgetBefore)
    const outdated = walk(pairs, { keysPerRun: CHECKED_PER_TICK, isWanted: (_key, row) => isOutdated(row) })

    /**
     * Removes old swipes from some pairs, and deletes pairs that contain nothing except the time of an old deletion or
     * the time at which a block ended long ago.
     */
    function forgetSwipes(now: number, ctx: Context): void {
      forgetBefore = now - SWIPE_KEPT_MS
      for (const [key, row] of outdated.run(Math.floor(now / WALK_EVERY_MS)))
        reduce(parsePairKey(key), row, withoutOldSwipes(row, forgetBefore), forgetBefore, ctx)
    }

    function forget(now: number): void {
      for (const { key } of forgetting.takeDue(now, PAIRS_PER_TICK)) deleted.delete(key)
    }

    const stores = deciding.stores
    t.source(matchDeletions)
      .process('begin-to-leave', { stores }, beginToLeave)
      .tick('leave', { everyMs: LEAVE_EVERY_MS, clock: 'wall', stores, emits }, leave)
      .tick('forget-swipes', { everyMs: CHECK_EVERY_MS, clock: 'wall', stores, emits }, forgetSwipes)
      .tick('forget-deletions', { everyMs: LEAVE_EVERY_MS, clock: 'wall', stores }, forget)
  },
  { ...DECIDING_BESIDE_BULK, erasesIds: true },
)
