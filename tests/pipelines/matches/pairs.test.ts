import { expect, test } from 'vitest'
import { decisionDriver, type TestDriver } from '../../../pipelines/engine/testing.ts'
import { matchPairs } from '../../../pipelines/matches/pairs/topology.ts'
import { applySwipe } from '../../../pipelines/matches/users/swipes.ts'
import { pairFlow } from '../../../schemas/matches/flow.ts'
import { conversationIdOf, matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import { matchDeletions, matchEvents, matchNotifications, matchRelations, pairSwipes } from '../../../schemas/matches/topics.ts'
import type { PairCommand, PairRow, PairSwipe, SwipeRow } from '../../../schemas/matches/types.ts'
import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { ANN, BOB, CAT, pairSwipe } from './swipes.ts'

const KEY = pairKey(BOB, ANN)
const DAY_MS = 24 * 3_600_000

function pairsDriver() {
  const { ask, driver } = decisionDriver(matchPairs, pairFlow)
  const command = (action: PairCommand['action'], actor_id: string, other_id: string, match_id: string | null = null, not_before = 0) =>
    ask(pairKey(actor_id, other_id), { action, actor_id, other_id, match_id, matched_at: null, not_before })
  const pipe = (...swipes: PairSwipe[]) => {
    for (const one of swipes) driver.pipe(pairSwipes, pairKey(one.swiper_id, one.target_id), one)
  }
  const events = () => driver.read(matchEvents).map(({ value }) => value)
  const pushes = () => driver.read(matchNotifications).map(({ value }) => [value?.user_id, value?.other_id])
  /** The newest relation of each user to every other user. */
  const relations = new Map<string, unknown>()
  function relation(user: string, other: string) {
    for (const { key, value } of driver.read(matchRelations)) relations.set(key as string, value)
    return relations.get(`${user}:${other}`)
  }
  return { command, pipe, events, pushes, relation, driver }
}

/** Lets days pass while the topology is stopped, because a running driver would run every tick of these days. */
function daysPass(driver: TestDriver, days: number): void {
  driver.restart({ downMs: days * DAY_MS })
  driver.advanceWallClock(5_000)
}

test('two likes make one match, and each user gets one push', () => {
  const { pipe, events, pushes, relation } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000))
  expect([events(), pushes()]).toEqual([[], []])
  expect(relation(BOB, ANN)).toMatchObject({ liked_at: 1_000, is_super_like: false, match_id: null })
  expect(relation(ANN, BOB)).toBeUndefined()
  pipe(pairSwipe(BOB, ANN, 'SUPER_LIKE', 2_000))
  const match = { match_id: matchIdOf(ANN, BOB), conversation_id: conversationIdOf(BOB, ANN), matched_at: 2_000 }
  expect(events()).toEqual([{ ...match, user_a: ANN, user_b: BOB }])
  expect(pushes().sort()).toEqual([
    [ANN, BOB],
    [BOB, ANN],
  ])
  expect(relation(ANN, BOB)).toMatchObject({ ...match, liked_at: null, has_ended: false })
  expect(relation(BOB, ANN)).toMatchObject({ ...match, liked_at: null, has_ended: false })
  pipe(pairSwipe(BOB, ANN, 'RIGHT', 3_000), pairSwipe(ANN, BOB, 'LEFT', 4_000), pairSwipe(ANN, BOB, 'RIGHT', 5_000))
  expect([events(), pushes()]).toEqual([[], []])
})

test('only the newest swipe of each of the two users counts, even if an older swipe arrives after it', () => {
  const { pipe, events, relation } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 2_000), pairSwipe(ANN, BOB, 'REWIND', 3_000), pairSwipe(ANN, BOB, 'RIGHT', 2_000))
  pipe(pairSwipe(BOB, ANN, 'RIGHT', 4_000))
  expect([events(), relation(BOB, ANN)]).toEqual([[], null])
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 5_000))
  expect(events()).toHaveLength(1)
})

test('passes and rewinds that take back no like are not stored, and an unchanged relation is not published again', () => {
  const { pipe, driver } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'LEFT', 1_000), pairSwipe(BOB, ANN, 'REWIND', 2_000))
  expect(driver.metrics.dropped.get('swipe_without_effect')).toBe(2)
  expect([...driver.store<KeyedStore<string, PairRow>>('pairs').scan()]).toEqual([])
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 3_000), pairSwipe(ANN, BOB, 'RIGHT', 3_000))
  expect(driver.read(matchRelations).map(({ key }) => key)).toEqual([`${BOB}:${ANN}`])
})

test('a block ends a match permanently, and hides both users from each other until the block is lifted', () => {
  const { pipe, events, pushes, relation, command, driver } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000))
  expect(events()).toHaveLength(1)
  const endedAt = driver.now
  expect(command('block', ANN, BOB)).toEqual({ outcome: 'done', changed_at: endedAt, ended_at: endedAt })
  expect(relation(ANN, BOB)).toMatchObject({ blocks: true, is_blocked: false, has_ended: true })
  expect(relation(BOB, ANN)).toMatchObject({ blocks: false, is_blocked: true, has_ended: true })
  expect(command('unblock', ANN, BOB)).toEqual({ outcome: 'done', changed_at: expect.any(Number), ended_at: endedAt })
  expect(relation(ANN, BOB)).toMatchObject({ blocks: false, is_blocked: false, has_ended: true })
  pushes()
  const later = driver.now + 1
  pipe(pairSwipe(ANN, BOB, 'RIGHT', later), pairSwipe(BOB, ANN, 'RIGHT', later))
  expect([events(), pushes()]).toEqual([[], []])
})

test('a block or unblock that changes something gets a later time than the previous change, even within one millisecond', () => {
  const { command } = pairsDriver()
  expect(command('unblock', ANN, BOB)).toEqual({ outcome: 'done', changed_at: 0 })
  const answers = (['block', 'unblock', 'unblock', 'block'] as const).map((action) => command(action, ANN, BOB))
  const [first, second, third, fourth] = answers.map(({ changed_at }) => changed_at as number)
  expect([second > first, third === second, fourth > third]).toEqual([true, true, true])
})

test('a like that arrives during a block has no effect, and after the block is lifted, only likes that were sent later can match', () => {
  const { pipe, events, relation, command, driver } = pairsDriver()
  command('block', BOB, ANN)
  pipe(pairSwipe(ANN, BOB, 'RIGHT', driver.now), pairSwipe(BOB, ANN, 'RIGHT', driver.now))
  expect(relation(BOB, ANN)).toMatchObject({ liked_at: null, blocks: true })
  const before = driver.now
  driver.advanceWallClock(10_000)
  command('unblock', BOB, ANN)
  expect(relation(BOB, ANN)).toBeNull()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', before + 1), pairSwipe(BOB, ANN, 'RIGHT', before + 1))
  expect(events()).toEqual([])
  pipe(pairSwipe(ANN, BOB, 'RIGHT', driver.now + 1), pairSwipe(BOB, ANN, 'RIGHT', driver.now + 1))
  expect(events()).toHaveLength(1)
})

test('only an existing match can be ended, it ends for both users, and ending it again succeeds', () => {
  const { pipe, relation, command } = pairsDriver()
  const id = matchIdOf(ANN, BOB)
  expect(command('unmatch', ANN, BOB, id)).toEqual({ outcome: 'not_found' })
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000))
  expect(command('unmatch', ANN, BOB, matchIdOf(ANN, CAT))).toEqual({ outcome: 'not_found' })
  expect(command('unmatch', BOB, ANN, id)).toEqual({ outcome: 'done', changed_at: expect.any(Number) })
  expect(command('unmatch', ANN, BOB, id)).toEqual({ outcome: 'done', changed_at: expect.any(Number) })
  expect([relation(ANN, BOB), relation(BOB, ANN)]).toMatchObject([{ has_ended: true }, { has_ended: true }])
})

test('likes are forgotten after 90 days and then no longer lead to a match; matches and blocks remain', () => {
  const { pipe, events, relation, command, driver } = pairsDriver()
  const rows = () => [...driver.store<KeyedStore<string, PairRow>>('pairs').scan()]
  const at = driver.now
  pipe(pairSwipe(ANN, BOB, 'RIGHT', at), pairSwipe(ANN, CAT, 'RIGHT', at), pairSwipe(CAT, ANN, 'RIGHT', at + 1))
  pipe(pairSwipe(BOB, CAT, 'RIGHT', at))
  command('block', CAT, BOB)
  events()
  daysPass(driver, 89)
  expect(rows()).toHaveLength(3)
  expect(relation(BOB, ANN)).toMatchObject({ liked_at: at })
  daysPass(driver, 2)
  expect(relation(BOB, ANN)).toBeNull()
  expect(relation(BOB, CAT)).toMatchObject({ is_blocked: true })
  expect(relation(ANN, CAT)).toMatchObject({ matched_at: at + 1, has_ended: false })
  expect(JSON.stringify(rows())).not.toMatch(/RIGHT/)
  expect(rows().flatMap(([, { a, b }]) => [a.swipe_id, b.swipe_id])).toEqual(['', '', '', ''])
  expect([...driver.store<KeyedStore<string, string>>('partners').scan()]).toHaveLength(2)
  driver.restart({ wipeState: true })
  expect(rows()).toHaveLength(2)
  pipe(pairSwipe(BOB, ANN, 'RIGHT', driver.now))
  expect(events()).toEqual([])
  // The likes of the match are forgotten, but a deletion still ends the match.
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: driver.now })
  driver.advanceWallClock(2_000)
  expect(relation(CAT, ANN)).toBeNull()
})

test('a pair whose only content is a lifted block is forgotten after 90 days', () => {
  const { command, driver } = pairsDriver()
  const count = (store: string) => [...driver.store<KeyedStore<string, unknown>>(store).scan()].length
  command('block', ANN, BOB)
  command('unblock', ANN, BOB)
  command('block', ANN, CAT)
  driver.read(matchRelations)
  daysPass(driver, 89)
  expect([count('pairs'), count('partners')]).toEqual([2, 2])
  daysPass(driver, 2)
  expect([count('pairs'), count('partners')]).toEqual([1, 1])
  expect(driver.read(matchRelations)).toEqual([])
})

test('the command `notify` creates no match and sends no second push', () => {
  const { pipe, pushes, events, command } = pairsDriver()
  const id = matchIdOf(ANN, BOB)
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000))
  expect(command('notify', ANN, BOB, id)).toEqual({ outcome: 'not_found' })
  pipe(pairSwipe(BOB, ANN, 'RIGHT', 2_000))
  expect([events(), pushes()].map((list) => list.length)).toEqual([1, 2])
  expect(command('notify', ANN, BOB, id)).toEqual({ outcome: 'done' })
  expect([events(), pushes()]).toEqual([[], []])
})

test('after the deletion of a user, only blocks by other users remain, and likes from before the deletion no longer count', () => {
  const { pipe, events, relation, command, driver } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000), pairSwipe(ANN, CAT, 'RIGHT', 3_000))
  command('block', CAT, ANN)
  expect(events()).toHaveLength(1)
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: driver.now })
  driver.advanceWallClock(2_000)
  expect(relation(BOB, ANN)).toBeNull()
  expect(relation(CAT, ANN)).toMatchObject({ blocks: true, liked_at: null })
  pipe(pairSwipe(ANN, BOB, 'RIGHT', driver.now - 2_000), pairSwipe(BOB, ANN, 'RIGHT', driver.now - 2_000))
  expect(driver.metrics.dropped.get('before_deletion')).toBe(2)
  pipe(pairSwipe(ANN, BOB, 'RIGHT', driver.now), pairSwipe(BOB, ANN, 'RIGHT', driver.now))
  expect(events()).toHaveLength(1)
})

test.each([
  [ANN, BOB],
  [BOB, ANN],
])('a second deletion of %s also applies to a pair that the first deletion kept because of a block by %s', (gone, other) => {
  const { pipe, relation, command, driver } = pairsDriver()
  const remove = () => {
    driver.pipe(matchDeletions, gone, { user_id: gone, deleted_at: driver.now })
    driver.advanceWallClock(10_000)
  }
  pipe(pairSwipe(gone, other, 'RIGHT', driver.now))
  command('block', other, gone)
  remove()
  command('unblock', other, gone)
  driver.advanceWallClock(10)
  pipe(pairSwipe(gone, other, 'RIGHT', driver.now))
  expect(relation(other, gone)).toMatchObject({ liked_at: driver.now })
  driver.advanceWallClock(10)
  remove()
  expect(relation(other, gone)).toBeNull()
})

test("actions of a new profile are kept even if they precede the removal of the deleted profile's pairs", () => {
  const { pipe, events, pushes, relation, command, driver } = pairsDriver()
  pipe(pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000), pairSwipe(CAT, ANN, 'RIGHT', 2_500))
  expect([events().length, pushes().length]).toEqual([1, 2])
  const deletedAt = driver.now
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: deletedAt })
  pipe(pairSwipe(ANN, BOB, 'RIGHT', deletedAt + 1), pairSwipe(ANN, CAT, 'RIGHT', deletedAt + 1))
  // The match and likes of the deleted profile no longer have an effect.
  expect([events(), pushes()]).toEqual([[], []])
  command('block', ANN, CAT)
  driver.advanceWallClock(10_000)
  expect([relation(BOB, ANN), relation(CAT, ANN)]).toMatchObject([{ liked_at: deletedAt + 1 }, { is_blocked: true }])
  expect(relation(ANN, BOB)).toBeNull()
  pipe(pairSwipe(BOB, ANN, 'RIGHT', driver.now))
  expect(relation(ANN, BOB)).toMatchObject({ match_id: matchIdOf(ANN, BOB), matched_at: driver.now })
  expect([events().length, pushes().length]).toEqual([1, 2])
})

test('a block by a new profile remains even if it is decided by a worker whose clock is behind the clock of the worker that decided the deletion', () => {
  const { pipe, events, relation, command, driver } = pairsDriver()
  const deletedAt = driver.now + 5_000
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: deletedAt })
  expect(command('block', ANN, BOB, null, deletedAt + 1)).toMatchObject({ changed_at: deletedAt + 1 })
  pipe(pairSwipe(ANN, BOB, 'RIGHT', deletedAt + 2), pairSwipe(BOB, ANN, 'RIGHT', deletedAt + 2))
  driver.advanceWallClock(3_000)
  expect(relation(BOB, ANN)).toMatchObject({ is_blocked: true, match_id: null })
  expect(events()).toEqual([])
})

test('a new profile can repeat a block before the deletion of the former profile arrives, and the block stays', () => {
  const { relation, command, driver } = pairsDriver()
  const first = command('block', ANN, BOB).changed_at as number
  driver.advanceWallClock(10)
  const deletedAt = driver.now
  driver.advanceWallClock(10)
  expect(command('block', ANN, BOB, null, deletedAt + 1).changed_at).toBeGreaterThan(first)
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: deletedAt })
  driver.advanceWallClock(3_000)
  expect(relation(BOB, ANN)).toMatchObject({ is_blocked: true })
})

test('a deletion lifts a block by the deleted user even if the other user has set a block since then, and undoes the end of a match', () => {
  const { pipe, command, driver } = pairsDriver()
  command('block', ANN, BOB)
  const deletedAt = driver.now
  driver.advanceWallClock(10)
  // The deletion arrives after commands that were sent later, because it comes through another topic.
  const { changed_at } = command('block', BOB, ANN)
  pipe(pairSwipe(ANN, CAT, 'RIGHT', 1_000), pairSwipe(CAT, ANN, 'RIGHT', 2_000))
  const endedAt = driver.now
  command('unmatch', CAT, ANN, matchIdOf(ANN, CAT))
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: deletedAt })
  driver.advanceWallClock(2_000)
  const records = driver.read(matchRelations).map(({ key, value }) => ({ key, value }))
  const of = (user: string, other: string) => records.filter(({ key }) => key === `${user}:${other}`).map(({ value }) => value)
  expect(of(ANN, BOB).at(-1)).toMatchObject({ blocks: false, is_blocked: true })
  expect(of(BOB, ANN).at(-1)).toMatchObject({ blocks: true, is_blocked: false, unblocked_until: changed_at })
  // A record precedes the tombstone, because a tombstone cannot contain `reopened_until`. Notes of the API up to that
  // time no longer end the match.
  for (const one of [of(ANN, CAT), of(CAT, ANN)]) expect(one.slice(-2)).toMatchObject([{ reopened_until: endedAt, has_ended: false }, null])
})

test('when a block is lifted, the relations of both users state the time up to which notes of the API about the block no longer apply', () => {
  const { command, driver } = pairsDriver()
  command('block', ANN, BOB)
  const { changed_at } = command('unblock', ANN, BOB)
  const records = driver.read(matchRelations)
  const last = (key: string) =>
    records
      .filter((record) => record.key === key)
      .map(({ value }) => value)
      .slice(-2)
  const nothing = { blocks: false, is_blocked: false }
  expect(last(`${ANN}:${BOB}`)).toMatchObject([{ ...nothing, released_until: changed_at, unblocked_until: null }, null])
  expect(last(`${BOB}:${ANN}`)).toMatchObject([{ ...nothing, released_until: null, unblocked_until: changed_at }, null])
})

test('40 deleted users with one pair each are removed within two seconds, because their deletions do not wait for each other', () => {
  const { pipe, relation, driver } = pairsDriver()
  const gone = Array.from({ length: 40 }, (_, index) => `1${String(index).padStart(7, '0')}-0000-4000-8000-000000000000`)
  pipe(...gone.map((user) => pairSwipe(user, ANN, 'RIGHT', 1_000)))
  for (const user_id of gone) driver.pipe(matchDeletions, user_id, { user_id, deleted_at: driver.now })
  driver.advanceWallClock(2_000)
  expect(gone.map((user) => relation(ANN, user)).filter((known) => known !== null)).toEqual([])
})

test('a deleted user is removed from all of their 1,100 pairs', () => {
  const { pipe, relation, driver } = pairsDriver()
  const others = Array.from({ length: 1_100 }, (_, index) => `1${String(index).padStart(7, '0')}-0000-4000-8000-000000000000`)
  pipe(...others.map((other) => pairSwipe(ANN, other, 'RIGHT', 1_000)))
  expect(relation(others[0], ANN)).toMatchObject({ liked_at: 1_000 })
  driver.pipe(matchDeletions, ANN, { user_id: ANN, deleted_at: driver.now })
  driver.advanceWallClock(4_000)
  expect(others.map((other) => relation(other, ANN)).filter((known) => known !== null)).toEqual([])
})

test.each([1, 2, 3, 4, 5])(
  'despite repetitions and restarts, one match is made if at any time the newest swipes of both users are likes, and none otherwise (seed %i)',
  (seed) => {
    const random = seededRandom(seed)
    const { pipe, events, driver } = pairsDriver()
    const directions = ['LEFT', 'RIGHT', 'SUPER_LIKE', 'REWIND'] as const
    const sent = Array.from({ length: 12 }, (_, index) => {
      const [from, to] = pick(random, [
        [ANN, BOB],
        [BOB, ANN],
      ])
      return pairSwipe(from, to, pick(random, directions), 1_000 + index)
    })
    const arrived: PairSwipe[] = []
    let expected = 0
    const order = sent.map((one) => ({ one, at: random() })).sort((a, b) => a.at - b.at)
    const passed = throughUsers(order.map(({ one }) => one))
    for (const one of passed.flatMap((one, index) => [one, ...passed.slice(0, index + 1).filter(() => integer(random, 4) === 0)])) {
      arrived.push(one)
      if (expected === 0 && bothLike(arrived)) expected = 1
      pipe(one)
      if (integer(random, 4) === 0) driver.restart({ wipeState: integer(random, 2) === 0 })
    }
    expect(events()).toHaveLength(expected)
  },
)

/** Returns the output of match-users for swipes in any order: the likes, and the swipes that take likes back. */
function throughUsers(arriving: readonly PairSwipe[]): PairSwipe[] {
  const rows = new Map<string, SwipeRow>()
  return arriving.filter((swipe) => {
    const effect = applySwipe(rows.get(swipe.swiper_id), { ...swipe, duration_ms: null, position: null })
    if (effect !== undefined) rows.set(swipe.swiper_id, effect.row)
    return effect?.concernsPair === true
  })
}

/** Computes from all swipes that have arrived whether the two users like each other, without code of the service. */
function bothLike(arrived: readonly PairSwipe[]): boolean {
  return [ANN, BOB].every((user) => {
    const own = arrived.filter(({ swiper_id }) => swiper_id === user).sort((a, b) => a.ts - b.ts)
    return ['RIGHT', 'SUPER_LIKE'].includes(own.at(-1)?.direction ?? '')
  })
}

test('the key of a pair is the same for both users', () => {
  expect([pairKey(ANN, BOB), matchIdOf(ANN, BOB)]).toEqual([KEY, matchIdOf(BOB, ANN)])
  expect(matchIdOf(ANN, BOB)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set([matchIdOf(ANN, BOB), conversationIdOf(ANN, BOB), matchIdOf(ANN, CAT)]).size).toBe(3)
})
