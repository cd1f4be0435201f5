import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { decisionDriver, testDriver } from '../../../../pipelines/engine/testing.ts'
import { nothingOf } from '../../../../pipelines/matches/pairs/relation.ts'
import { matchPairs } from '../../../../pipelines/matches/pairs/topology.ts'
import { decideProfile } from '../../../../pipelines/matches/profiles/decide.ts'
import { matchUsers } from '../../../../pipelines/matches/users/topology.ts'
import { silentLog } from '../../../../runtime/system.ts'
import { type PairAnswer, pairFlow } from '../../../../schemas/matches/flow.ts'
import { matchIdOf, pairKey } from '../../../../schemas/matches/pair.ts'
import { matchDeletions, matchProfiles, matchRelations, matchSeen, pairSwipes, swipeEvents } from '../../../../schemas/matches/topics.ts'
import type { MatchProfile, MatchRelation, MatchSeen, PairCommand, SwipeEvent } from '../../../../schemas/matches/types.ts'
import { runScript } from '../../../../state/redis/run-script.ts'
import { positionsKey, viewStore } from '../../../../state/views/apply.ts'
import {
  activeField,
  type Cause,
  matchedField,
  matchedFieldName,
  NOTE_RECENT,
  NOTE_SEVERED,
  noteArguments,
  parseRecent,
  placeField,
  RECENT_KEPT_MS,
  type RecentSwipe,
  severedArguments,
  severedField,
  swipeField,
} from '../../../../state/views/matches/recent.ts'
import {
  noteSwipeArguments,
  TAKE_REWIND,
  TAKE_SWIPE,
  takenSwipe,
  takeRewindKeys,
  takeSwipeArguments,
  takeSwipeKeys,
} from '../../../../state/views/matches/take-swipe.ts'
import { MATCH_USERS_VIEW, matchUsersView, userKeys } from '../../../../state/views/matches/users.ts'
import { exclusionsOf, readPair, readRelations, readUser } from '../../../../state/views/matches/viewer.ts'
import { viewReader } from '../../../../state/views/reader.ts'
import { caughtUpKey, NOT_CAUGHT_UP, withoutLayout } from '../../../../state/views/view.ts'
import { pairSwipe, profileCommand, swipe } from '../../../pipelines/matches/swipes.ts'
import { privateRedis } from '../../../stack/index.ts'

const BOB = '0b000000-0000-4000-8000-000000000000'
const PARTITION = 0

type Direction = SwipeEvent['direction']
type SeenRecord = { readonly key: string; readonly value: MatchSeen | null }
/**
 * A step in the processing of an action. `note`: the API stores a note before it answers. `apply`: the sink applies the
 * records that result from the action.
 */
type Step = { readonly kind: 'note' | 'apply'; readonly action: number }

/**
 * Yields every possible order in which the actions of one client can be noted and applied. The client sends its actions
 * one after another.
 */
function* orders(actions: number, done: readonly Step[] = [], noted = 0, applied = 0): Generator<readonly Step[]> {
  if (noted === actions && applied === actions) yield done
  if (noted < actions) yield* orders(actions, [...done, { kind: 'note', action: noted }], noted + 1, applied)
  // Every action is noted before its response is sent, and the client sends its next action only after this response.
  if (applied < actions && applied <= noted) yield* orders(actions, [...done, { kind: 'apply', action: applied }], noted, applied + 1)
}

/** Returns the user's profile, and the records that the pipeline emits for each swipe or rewind. */
function recordsOf(annId: string, events: readonly SwipeEvent[]): { profile: MatchProfile; records: SeenRecord[][] } {
  const driver = testDriver(matchUsers)
  const body = profileCommand('put', { display_name: 'Ann', birth_date: '1990-05-01' })
  const profile = decideProfile(undefined, body, { key: annId, now: driver.now, commandId: 'c' }).state as MatchProfile
  driver.pipe(matchProfiles, annId, { view: profile, result: null })
  driver.read(matchSeen)
  const records = events.map((event) => {
    driver.pipe(swipeEvents, annId, event)
    return driver.read(matchSeen) as SeenRecord[]
  })
  return { profile, records }
}

test.each<readonly Direction[]>([
  ['LEFT', 'REWIND', 'LEFT'],
  ['RIGHT', 'REWIND', 'LEFT', 'REWIND'],
])('an answered swipe hides its target, and a rewind shows it, in every order of notes and records: %s %s %s', async (...directions) => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const store = viewStore(redis)
  let user = 0
  for (const order of orders(directions.length)) {
    const annId = `0a000000-0000-4000-8000-${String(user++).padStart(12, '0')}`
    const start = Date.now()
    const events = directions.map((direction, index) => swipe(annId, BOB, direction, start + index))
    const { profile, records } = recordsOf(annId, events)
    const keys = userKeys(PARTITION, annId)
    await redis.set(caughtUpKey(MATCH_USERS_VIEW, PARTITION), '1')
    await redis.set(keys.profile, JSON.stringify(profile))
    const note = async ({ swipe_id, direction, ts }: SwipeEvent) => {
      const noted: RecentSwipe = { swipeId: swipe_id, targetId: BOB, direction, at: ts }
      if (direction === 'REWIND') await runScript(redis, TAKE_REWIND, takeRewindKeys(keys), noteSwipeArguments(noted))
      else await runScript(redis, TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(noted, 'match'))
    }
    let position = 0
    const apply = async (seen: readonly SeenRecord[]) => {
      const operations = seen.flatMap(({ key, value }) => matchUsersView.operationsFor(PARTITION, key, value))
      const batch = { view: MATCH_USERS_VIEW, partition: PARTITION, topic: `of ${annId}`, viewTopics: [matchSeen.name], operations }
      const expected = position === 0 ? undefined : position
      await store.apply({ ...batch, expected, next: ++position, caughtUp: false, now: Date.now() })
    }
    let answered = -1
    let known = -1
    for (const { kind, action } of order) {
      if (kind === 'note') await note(events[action])
      else await apply(records[action])
      if (kind === 'note') answered = action
      known = Math.max(known, action)
      const state = await readUser(viewReader(redis), PARTITION, annId)
      if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the profile is missing')
      const isHidden = exclusionsOf(state, Date.now())(BOB, undefined) === 'swiped'
      // While an action is in progress, either the previous or the new result is correct, so nothing is checked.
      if (known === answered) expect([order, action, isHidden]).toEqual([order, action, directions[answered] !== 'REWIND'])
    }
    // A note may remain only if it was stored after its own record was applied. Such a note agrees with the view.
    expect(Object.keys(await redis.hgetall(keys.recent)).filter((field) => field.startsWith('s:')).length).toBeLessThanOrEqual(1)
  }
})

test('a lifted block is no longer in force, and a block that was renewed afterwards is in force, even if the notes arrive in reverse order', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const annId = '0a000000-0000-4000-8000-000000000000'
  const { recent } = userKeys(PARTITION, annId)
  const isSevered = async () => (await readPair(viewReader(redis), PARTITION, annId, BOB)).isSevered
  for (const decided of [
    [true, false],
    [true, false, true],
  ])
    for (const order of [decided.keys(), [...decided.keys()].toReversed()]) {
      await redis.del(recent)
      const field = severedField(BOB, 'blocks')
      for (const at of order) await runScript(redis, NOTE_SEVERED, [recent], severedArguments(field, 1_000 + at, decided[at]))
      expect([decided, await isSevered()]).toEqual([decided, decided.at(-1)])
      // Blocks by the other user are noted separately, so such a block takes effect even if the user's own block was
      // lifted.
      await runScript(redis, NOTE_SEVERED, [recent], severedArguments(severedField(BOB, 'blocked'), 1_000, true))
      expect(await isSevered()).toBe(true)
    }
  // An earlier version of the API wrote notes without a time.
  await redis.del(recent)
  await redis.hset(recent, severedField(BOB, 'blocks'), '1')
  expect(await isSevered()).toBe(true)
  await runScript(redis, NOTE_SEVERED, [recent], severedArguments(severedField(BOB, 'blocks'), 1_000, false))
  expect(await isSevered()).toBe(false)
})

/** Sets up Ann and Bob, the pipeline of pairs, and the view and its notes in Redis. */
async function annAndBob() {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const ann = '0a000000-0000-4000-8000-000000000000'
  const { ask, driver } = decisionDriver(matchPairs, pairFlow)
  const store = viewStore(redis)
  let position = 0
  await redis.set(caughtUpKey(MATCH_USERS_VIEW, PARTITION), '1')

  async function apply(...records: { readonly key: unknown; readonly value: unknown }[]): Promise<void> {
    type Value = Parameters<typeof matchUsersView.operationsFor>[2]
    const operations = records.flatMap(({ key, value }) =>
      matchUsersView.operationsFor(PARTITION, key as string, value as Value, { held: null, now: driver.now }),
    )
    const batch = { view: MATCH_USERS_VIEW, partition: PARTITION, topic: 'all', viewTopics: [matchSeen.name], operations }
    await store.apply({ ...batch, expected: position === 0 ? undefined : position, next: ++position, caughtUp: false, now: driver.now })
  }

  const profileOf = (userId: string, deletedAt: number | null) => {
    const body = profileCommand('put', { display_name: 'X', birth_date: '1990-05-01' })
    const { state } = decideProfile(undefined, body, { key: userId, now: driver.now, commandId: 'c' })
    return { key: userId, value: { view: { ...state, deleted_at: deletedAt }, result: null } }
  }
  const relations = () => driver.read(matchRelations)

  function answer(action: PairCommand['action'], actor_id: string, other_id: string): PairAnswer {
    const match_id = action === 'unmatch' ? matchIdOf(actor_id, other_id) : null
    const decided = ask(pairKey(actor_id, other_id), { action, actor_id, other_id, match_id, matched_at: null, not_before: 0 })
    driver.advanceWallClock(5)
    return decided as PairAnswer
  }

  return {
    ann,
    redis,
    driver,
    apply,
    profileOf,
    relations,
    answer,
    /** Decides a command, and returns the time of the decision. */
    command: (...command: Parameters<typeof answer>) => answer(...command).changed_at as number,
    leave(userId: string): number {
      const deletedAt = driver.now
      driver.pipe(matchDeletions, userId, { user_id: userId, deleted_at: deletedAt })
      driver.advanceWallClock(5_000)
      return deletedAt
    },
    note: (userId: string, otherId: string, cause: Cause, at: number) =>
      runScript(redis, NOTE_SEVERED, [userKeys(PARTITION, userId).recent], severedArguments(severedField(otherId, cause), at, true)),
    /** Returns, for each of the two users, the reason why that user may not see the other. */
    async reasons() {
      const of = async (userId: string, otherId: string) => {
        const state = await readUser(viewReader(redis), PARTITION, userId)
        const relations = await readRelations(viewReader(redis), userKeys(PARTITION, userId), [otherId])
        if (state === undefined || state === NOT_CAUGHT_UP || relations === NOT_CAUGHT_UP) return 'no profile'
        return exclusionsOf(state, Date.now())(otherId, relations.get(otherId))
      }
      return [await of(ann, BOB), await of(BOB, ann)]
    },
    /** Returns, for each of the two users, whether that user may no longer swipe the other. */
    async severed() {
      const of = async (userId: string, otherId: string) => (await readPair(viewReader(redis), PARTITION, userId, otherId)).isSevered
      return [await of(ann, BOB), await of(BOB, ann)]
    },
  }
}

test.each(['block', 'unmatch'] as const)(
  'after a user has left and returned, an earlier %s by this user affects neither user, however late it is noted and in every order of topics',
  async (action) => {
    for (const isDeletionFirst of [true, false])
      for (const noteAt of [0, 1, 2, 3, 4]) {
        const { ann, driver, apply, profileOf, relations, command, leave, note, reasons, severed } = await annAndBob()
        const likes = [pairSwipe(ann, BOB, 'RIGHT', driver.now), pairSwipe(BOB, ann, 'RIGHT', driver.now)]
        if (action === 'unmatch') for (const like of likes) driver.pipe(pairSwipes, pairKey(ann, BOB), like)
        const at = command(action, ann, BOB)
        const before = relations()
        const deletedAt = leave(ann)
        const after = relations()
        const deletion = () => apply(profileOf(ann, deletedAt))
        const lifted = () => apply(...after)
        const steps = [
          () => apply(profileOf(ann, null), profileOf(BOB, null), ...before),
          ...(isDeletionFirst ? [deletion, lifted] : [lifted, deletion]),
        ]
        steps.push(() => apply(profileOf(ann, null)))
        const own: Cause = action === 'block' ? 'blocks' : 'ended'
        const others: Cause = action === 'block' ? 'blocked' : 'ended'
        const noted = async () => void (await Promise.all([note(ann, BOB, own, at), note(BOB, ann, others, at)]))
        for (const step of steps.toSpliced(noteAt, 0, noted)) await step()
        expect([isDeletionFirst, noteAt, await reasons(), await severed()]).toEqual([
          isDeletionFirst,
          noteAt,
          [undefined, undefined],
          [false, false],
        ])
      }
  },
)

test('a block by a user who has returned remains, although the records about the earlier deletion arrive later', async () => {
  const { ann, apply, profileOf, relations, command, leave, note, reasons } = await annAndBob()
  await apply(profileOf(ann, null), profileOf(BOB, null))
  command('block', ann, BOB)
  const before = relations()
  const deletedAt = leave(ann)
  const after = relations()
  const at = command('block', ann, BOB)
  await Promise.all([note(ann, BOB, 'blocks', at), note(BOB, ann, 'blocked', at)])
  await apply(...before, profileOf(ann, deletedAt), ...after, profileOf(ann, null))
  expect(await reasons()).toEqual(['blocks', 'blocked'])
  await apply(...relations())
  expect(await reasons()).toEqual(['blocks', 'blocked'])
})

test('a block of a user remains after this user has left and returned, even before the view includes the block', async () => {
  const { ann, apply, profileOf, relations, command, leave, note, reasons } = await annAndBob()
  await apply(profileOf(ann, null), profileOf(BOB, null))
  const at = command('block', BOB, ann)
  await Promise.all([note(BOB, ann, 'blocks', at), note(ann, BOB, 'blocked', at)])
  const deletedAt = leave(ann)
  await apply(profileOf(ann, deletedAt), profileOf(ann, null))
  expect(await reasons()).toEqual(['blocked', 'blocks'])
  await apply(...relations())
  expect(await reasons()).toEqual(['blocked', 'blocks'])
})

test('a swipe from before the deletion of a profile hides nobody, even if it is noted after the deletion', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const keys = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  const swiped = async (at: number) => {
    const swipe: RecentSwipe = { swipeId: randomUUID(), targetId: BOB, direction: 'LEFT', at }
    await runScript(redis, TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(swipe, 'none'))
    return Object.keys(await redis.hgetall(keys.recent)).toSorted()
  }
  expect(await swiped(1_000)).toEqual(['last', `s:${BOB}`])
  await redis.del(keys.recent)
  await redis.hset(keys.recent, 'left', '1000')
  expect(await swiped(1_000)).toEqual(['left'])
  expect(await swiped(1_001)).toEqual(['last', 'left', `s:${BOB}`])
})

test('a place, an activity and an expected match from before a deletion are not stored after it', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const { recent } = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  const noted = (at: number) => ({ ...placeField({ lat: 37.5, lon: -122.5 }, at), ...activeField(at), ...matchedField(BOB, at) })
  const note = (at: number) => runScript(redis, NOTE_RECENT, [recent], noteArguments(noted(at)))
  await note(900)
  expect(await redis.hgetall(recent)).toEqual(noted(900))
  await redis.del(recent)
  await redis.hset(recent, 'left', '1000')
  await note(1_000)
  expect(await redis.hgetall(recent)).toEqual({ left: '1000' })
  await note(1_001)
  expect(await redis.hgetall(recent)).toEqual({ left: '1000', ...noted(1_001) })
})

test('users whom a returned user has swiped stay hidden, although the view includes the earlier deletion only later', async () => {
  const { ann, apply, redis } = await annAndBob()
  const [cat, dan] = ['0c000000-0000-4000-8000-000000000000', '0d000000-0000-4000-8000-000000000000']
  const driver = testDriver(matchUsers)
  const body = profileCommand('put', { display_name: 'Ann', birth_date: '1990-05-01' })
  function decided(deletedAt: number | null) {
    const { state } = decideProfile(undefined, body, { key: ann, now: driver.now, commandId: 'c' })
    const value = { view: { ...(state as MatchProfile), deleted_at: deletedAt }, result: null }
    driver.pipe(matchProfiles, ann, value)
    return { key: ann, value }
  }
  const note = (targetId: string, at: number) =>
    runScript(
      redis,
      TAKE_SWIPE,
      takeSwipeKeys(userKeys(PARTITION, ann)),
      takeSwipeArguments({ swipeId: randomUUID(), targetId, direction: 'LEFT', at }, 'none'),
    )
  const profile = decided(null)
  driver.pipe(swipeEvents, ann, swipe(ann, cat, 'LEFT', driver.now))
  await note(cat, driver.now)
  driver.advanceWallClock(1_000)
  const deletion = decided(driver.now)
  driver.advanceWallClock(1_000)
  const newProfile = decided(null)
  driver.pipe(swipeEvents, ann, swipe(ann, BOB, 'LEFT', driver.now))
  await note(dan, driver.now)
  await apply(profile, ...driver.read(matchSeen), deletion, newProfile)
  const state = await readUser(viewReader(redis), PARTITION, ann)
  if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the profile is missing')
  const exclusion = exclusionsOf(state, driver.now)
  expect([BOB, dan, cat].map((id) => exclusion(id, undefined))).toEqual(['swiped', 'swiped', undefined])
  expect(state.self?.last_swipe?.target_id).toBe(BOB)
})

test('notes about a renewed block outlast the records about the first block, and are removed once the view includes the renewed one', async () => {
  const { ann, apply, redis, profileOf, relations, command, note, reasons } = await annAndBob()
  await apply(profileOf(ann, null), profileOf(BOB, null))
  const noted = (at: number) => Promise.all([note(ann, BOB, 'blocks', at), note(BOB, ann, 'blocked', at)])
  const notes = async () => (await Promise.all([ann, BOB].map((id) => redis.hkeys(userKeys(PARTITION, id).recent)))).flat()
  await noted(command('block', ann, BOB))
  const first = relations()
  command('unblock', ann, BOB)
  const lifting = relations()
  await noted(command('block', ann, BOB))
  // The view includes the first block, while the notes are about the second one.
  await apply(...first)
  expect(await notes()).toHaveLength(2)
  await apply(...lifting)
  expect([await reasons(), await notes()]).toEqual([
    ['blocks', 'blocked'],
    [severedField(BOB, 'blocks'), severedField(ann, 'blocked')],
  ])
  await apply(...relations())
  expect([await reasons(), await notes()]).toEqual([['blocks', 'blocked'], []])
})

test('a match that a block has ended stays ended, even if the block is lifted before the view includes it', async () => {
  const { ann, driver, apply, redis, profileOf, relations, answer, note, severed } = await annAndBob()
  await apply(profileOf(ann, null), profileOf(BOB, null))
  for (const like of [pairSwipe(ann, BOB, 'RIGHT', driver.now), pairSwipe(BOB, ann, 'RIGHT', driver.now)])
    driver.pipe(pairSwipes, pairKey(ann, BOB), like)
  await apply(...relations())
  // After both requests, only the notes about the end of the match hide the users from each other.
  const endedAt = answer('block', ann, BOB).ended_at as number
  expect(answer('unblock', ann, BOB).ended_at).toBe(endedAt)
  await Promise.all([note(ann, BOB, 'ended', endedAt), note(BOB, ann, 'ended', endedAt)])
  expect(await severed()).toEqual([true, true])
  await apply(...relations())
  expect(await severed()).toEqual([true, true])
  const notes = await Promise.all([ann, BOB].map((id) => redis.hgetall(userKeys(PARTITION, id).recent)))
  expect(notes.flatMap((fields) => Object.keys(fields).filter((field) => field.endsWith(':ended')))).toEqual([])
})

test('a new note about a block removes two-day-old notes about blocks and matches, but not swipes, the place or newer notes', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const { recent } = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  const at = 2 * RECENT_KEPT_MS
  const old = String(at - RECENT_KEPT_MS)
  const [cat, dan, eve] = ['cat', 'dan', 'eve']
  const kept = {
    [swipeField(cat)]: `${old} id LEFT`,
    place: `1 2 ${old}`,
    left: old,
    [severedField(dan, 'blocks')]: `${at - RECENT_KEPT_MS + 1} 1`,
    // An earlier version of the API wrote notes without a time.
    [severedField(eve, 'blocks')]: '1',
  }
  await redis.hset(recent, {
    ...kept,
    [severedField(cat, 'blocked')]: `${old} 1`,
    [severedField(cat, 'ended')]: `${old} 0`,
    ...matchedField(dan, Number(old)),
  })
  await runScript(redis, NOTE_SEVERED, [recent], severedArguments(severedField(BOB, 'blocks'), at, true))
  expect(await redis.hgetall(recent)).toEqual({ ...kept, [severedField(BOB, 'blocks')]: `${at} 1` })
})

test('if the view already includes a match, a swipe on the matched user leaves no note about a match, because nothing would remove the note', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const keys = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  async function swiped(): Promise<[isLiked: boolean, isNoted: boolean]> {
    const swipe: RecentSwipe = { swipeId: randomUUID(), targetId: BOB, direction: 'RIGHT', at: 1_000 }
    const { isLiked } = takenSwipe(await runScript(redis, TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(swipe, 'match')))
    return [isLiked, (await redis.hdel(keys.recent, matchedFieldName(BOB))) === 1]
  }
  await redis.zadd(keys.likes, 6_000, BOB)
  expect(await swiped()).toEqual([true, true])
  await redis.del(keys.likes)
  await redis.hset(keys.relations, BOB, '{"m":4000}')
  expect(await swiped()).toEqual([true, false])
})

test('a sink that clears the view to rebuild it keeps the notes that the API wrote after Redis was emptied', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const keys = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  await runScript(redis, NOTE_SEVERED, [keys.recent], severedArguments(severedField(BOB, 'blocks'), 1_000, true))
  await redis.set(keys.profile, 'of an unknown age')
  await viewStore(redis).finishClearing(MATCH_USERS_VIEW, PARTITION, matchUsersView.keeps)
  expect([await redis.exists(keys.recent), await redis.exists(keys.profile)]).toEqual([1, 0])
})

test('an answer announces a match if the target likes the caller or they have an open match, but not while a block hides the target', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const annId = '0a000000-0000-4000-8000-000000000000'
  const keys = userKeys(PARTITION, annId)
  const store = viewStore(redis)
  const nothing = { liked_at: null, is_super_like: false, match_id: null, conversation_id: null, matched_at: null, has_ended: false }
  const unblocked = {
    blocks: false,
    is_blocked: false,
    blocked_at: null,
    unblocked_until: null,
    reopened_until: null,
    released_until: null,
  }
  const base = { ...nothing, ...unblocked, user_id: annId, other_id: BOB, changed_at: 5_000 }
  const match = { match_id: 'm', conversation_id: 'c', matched_at: 4_000 }
  let position = 0
  const announces = async (relation: Partial<MatchRelation> | null) => {
    const operations = matchUsersView.operationsFor(PARTITION, `${annId}:${BOB}`, relation && { ...base, ...relation })
    const batch = { view: MATCH_USERS_VIEW, partition: PARTITION, topic: 'relations', viewTopics: [matchSeen.name], operations }
    await store.apply({ ...batch, expected: position === 0 ? undefined : position, next: ++position, caughtUp: false, now: Date.now() })
    return await takes()
  }
  async function takes(): Promise<boolean> {
    const swipe: RecentSwipe = { swipeId: randomUUID(), targetId: BOB, direction: 'RIGHT', at: Date.now() + position }
    return takenSwipe(await runScript(redis, TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(swipe, 'match'))).isLiked
  }
  expect(await announces({ liked_at: 3_000 })).toBe(true)
  expect(await announces({ liked_at: 3_000, is_super_like: true })).toBe(true)
  expect(await announces(match)).toBe(true)
  expect(await announces({ ...match, has_ended: true })).toBe(false)
  expect(await announces({ blocks: true })).toBe(false)
  expect(await announces(null)).toBe(false)
})

test('if an API stores the note about a block only after the block was lifted, the note hides nobody, but a later block does', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const annId = '0a000000-0000-4000-8000-000000000000'
  const keys = userKeys(PARTITION, annId)
  const liftedAt = Date.now() - 1_000
  const relation = { ...nothingOf({ userId: annId, otherId: BOB }, liftedAt), unblocked_until: liftedAt, released_until: liftedAt }
  const of = (value: MatchRelation | null) =>
    matchUsersView.operationsFor(PARTITION, `${annId}:${BOB}`, value, { now: Date.now(), held: null })
  const batch = { view: MATCH_USERS_VIEW, partition: PARTITION, topic: 'relations', viewTopics: [matchSeen.name] }
  const operations = [...of(relation), ...of(null)]
  await viewStore(redis).apply({ ...batch, operations, expected: undefined, next: 2, caughtUp: false, now: Date.now() })
  const note = (cause: 'blocks' | 'blocked', at: number) =>
    runScript(redis, NOTE_SEVERED, [keys.recent], severedArguments(severedField(BOB, cause), at, true))
  const severed = async () => [...parseRecent(await redis.hgetall(keys.recent)).severed.values()]
  for (const cause of ['blocks', 'blocked'] as const) await note(cause, Date.now() - 2_000)
  expect(await severed()).toEqual([])
  await note('blocked', Date.now())
  expect(await severed()).toEqual(['blocked'])
})

test("a view of an earlier version is cleared and rebuilt, and the API's notes are kept", async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const keys = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  const earlier = withoutLayout(MATCH_USERS_VIEW)
  await redis.hset(positionsKey(earlier, PARTITION), matchRelations.name, '7')
  await redis.set(caughtUpKey(earlier, PARTITION), '1')
  // In earlier versions, this hash contained likes.
  await redis.hset(keys.relations, BOB, '3000')
  await redis.hset(keys.recent, severedField(BOB, 'blocks'), '1000 1')
  expect(await readRelations(viewReader(redis), keys, [BOB])).toBe(NOT_CAUGHT_UP)
  const topics = [matchProfiles, matchSeen, matchRelations]
  const target = viewTarget({ view: matchUsersView, topics }, { store: viewStore(redis), runtime: { now: Date.now, log: silentLog } })
  const facts = { start: 0, end: 7, topicId: '', committed: undefined, isBeyondEnd: async () => false }
  expect(await target.open({ topic: matchRelations.name, partition: PARTITION }, facts)).toBeUndefined()
  expect(await redis.exists(keys.relations, positionsKey(earlier, PARTITION), caughtUpKey(earlier, PARTITION))).toBe(0)
  expect(await redis.hgetall(keys.recent)).toEqual({ [severedField(BOB, 'blocks')]: '1000 1' })
})

test('Redis needs at most 64 bytes per received like of a user with 21 likes', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const likes = 20
  const keys = userKeys(PARTITION, '0a000000-0000-4000-8000-000000000000')
  const add = (index: number) =>
    redis.zadd(keys.likes, 2 * (Date.now() + index), `0b000000-0000-4000-8000-${String(index).padStart(12, '0')}`)
  await add(0)
  const first = (await redis.memory('USAGE', keys.likes)) ?? 0
  for (let index = 1; index <= likes; index++) await add(index)
  expect((((await redis.memory('USAGE', keys.likes)) ?? 0) - first) / likes).toBeLessThanOrEqual(64)
})
