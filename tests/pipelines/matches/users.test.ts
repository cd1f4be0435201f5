import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type KeyedStore, ROLL_KEY, type SeenSetStore } from '../../../pipelines/engine/index.ts'
import { type CommitFaultPoint, type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { decideProfile } from '../../../pipelines/matches/profiles/decide.ts'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import { pairKey } from '../../../schemas/matches/pair.ts'
import {
  locationUpdates,
  matchIndex,
  matchProfiles,
  matchSeen,
  matchSwipes,
  pairSwipes,
  swipeEvents,
} from '../../../schemas/matches/topics.ts'
import type { MatchProfile, MatchProfileCommand, MatchUser, SwipeEvent } from '../../../schemas/matches/types.ts'
import { eloAfter } from '../../../state/views/matches/candidates/desirability.ts'
import { parseMember } from '../../../state/views/matches/candidates/index-member.ts'
import { ANN, BOB, CAT, profileCommand, swipe } from './swipes.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000
const TOWN = { lat: 37.77, lon: -122.42 }

function usersDriver() {
  const driver = testDriver(matchUsers)
  const profiles = new Map<string, MatchProfile>()
  function profile(userId: string, given: Partial<MatchProfileCommand> = {}, action: MatchProfileCommand['action'] = 'put') {
    const body = profileCommand(action, { display_name: 'X', birth_date: '1990-05-01', ...given })
    const { state } = decideProfile(profiles.get(userId), body, { key: userId, now: driver.now, commandId: 'c' })
    profiles.set(userId, state as MatchProfile)
    driver.pipe(matchProfiles, userId, { view: state as MatchProfile, result: null })
  }
  function locate(user_id: string, lat: number | null, lon: number | null, ts = driver.now) {
    driver.pipe(locationUpdates, user_id, { user_id, lat, lon, accuracy_m: null, ts })
  }
  const swipedBefore = (event: SwipeEvent) => driver.pipe(swipeEvents, event.swiper_id, event)
  /** Pipes a swipe, after creating a profile for the swiper if there is none. */
  function swiped(event: SwipeEvent) {
    if (!profiles.has(event.swiper_id)) profile(event.swiper_id)
    swipedBefore(event)
  }
  /** The members of the candidate index according to all emitted records. */
  const members = new Map<string, string>()
  function index() {
    for (const { key, value } of driver.read(matchIndex)) {
      if (value === null) members.delete(key as string)
      else members.set(key as string, value.user_id)
    }
    return [...members.keys()].map(parseMember)
  }
  const user = (id: string) => driver.store<KeyedStore<string, MatchUser>>('users').get(id)
  return { driver, profile, locate, swiped, swipedBefore, index, user }
}

/** Lets days pass while the topology is stopped, because a running driver would run every tick of these days. */
function daysPass(driver: TestDriver, days: number): void {
  driver.restart({ downMs: days * DAY_MS })
  driver.advanceWallClock(MINUTE_MS)
}

test('a user can be found once the profile and the place are known, in either order, and has one entry after each move', () => {
  const { profile, locate, index } = usersDriver()
  locate(ANN, TOWN.lat, TOWN.lon)
  expect(index()).toEqual([])
  profile(ANN, { gender: 'f' })
  expect(index()).toMatchObject([{ userId: ANN, place: TOWN, gender: 'f', birthDate: '1990-05-01', elo: 1_500 }])
  profile(BOB)
  expect(index()).toHaveLength(1)
  locate(BOB, TOWN.lat, TOWN.lon)
  expect(index()).toHaveLength(2)
  locate(BOB, -33.9, 151.2)
  expect(index().filter(({ userId }) => userId === BOB)).toMatchObject([{ place: { lat: -33.9, lon: 151.2 } }])
})

test('an older place does not replace a newer place', () => {
  const { profile, locate, index, driver } = usersDriver()
  profile(ANN)
  locate(ANN, TOWN.lat, TOWN.lon, driver.now)
  locate(ANN, 1, 1, driver.now - 1)
  expect(index()).toMatchObject([{ place: TOWN }])
})

test('another place in the same cell is ignored for ten minutes, but counts as activity', () => {
  const { profile, locate, index, user, driver } = usersDriver()
  const near = { lat: TOWN.lat - 0.001, lon: TOWN.lon }
  profile(ANN)
  locate(ANN, TOWN.lat, TOWN.lon)
  const at = driver.now
  driver.read(matchIndex)
  locate(ANN, near.lat, near.lon, at + 10 * MINUTE_MS - 1)
  expect(driver.read(matchIndex)).toEqual([])
  expect(user(ANN)).toMatchObject({ ...TOWN, location_updated_at: at, last_active_at: at + 10 * MINUTE_MS - 1 })
  locate(ANN, near.lat, near.lon, at + 10 * MINUTE_MS)
  expect(user(ANN)).toMatchObject(near)
  // A place in another cell takes effect immediately, even soon after the previous one.
  locate(ANN, TOWN.lat + 0.01, TOWN.lon, at + 10 * MINUTE_MS + 1)
  expect(index()).toMatchObject([{ userId: ANN, place: { lat: TOWN.lat + 0.01 } }])
})

test.each<[string, Partial<SwipeEvent>, string?]>([
  ['a swiper that is not a UUID', { swiper_id: 'ann|1' }],
  ['a target that is not a UUID', { target_id: `${BOB}:page-1` }],
  ['a target in capitals', { target_id: BOB.toUpperCase() }],
  ['the key of another user', {}, CAT],
  ['an id that is not a UUID', { swipe_id: 'first' }],
  ['a negative duration', { duration_ms: -1 }],
  ['a negative position', { position: -1 }],
  ['a time in microseconds', { ts: 1_767_323_046_123_000 }],
  ['a time before 1970', { ts: -1 }],
])('a swipe with %s becomes a dead letter', (_what, change, key) => {
  const { driver } = usersDriver()
  const event = { ...swipe(ANN, BOB, 'RIGHT', driver.now), ...change }
  driver.pipe(swipeEvents, key ?? event.swiper_id, event)
  expect(driver.readDeadLetters()).toHaveLength(1)
  expect([driver.read(matchSeen), driver.read(pairSwipes)]).toEqual([[], []])
})

test.each<[string, number | null, number | null, string?, number?]>([
  ['a latitude above 90', 90.1, 0],
  ['a longitude above 180', 0, -180.1],
  ['a latitude that is not a number', Number.NaN, 0],
  ['a latitude but no longitude', 1, null],
  ['a user that is not a UUID', 1, 1, 'ann'],
  ['a time in microseconds', 1, 1, ANN, 1_767_323_046_123_000],
])('a location with %s becomes a dead letter', (_what, lat, lon, id = ANN, ts = undefined) => {
  const { locate, driver, user } = usersDriver()
  locate(id, lat, lon, ts)
  // The dead letters have no value, because they are kept for a month and must not contain places.
  expect(driver.readDeadLetters().map(({ value }) => value?.length)).toEqual([0])
  expect(user(id)).toBeUndefined()
})

test('a user who is deactivated or idle for seven days cannot be found until active again, and a deleted user cannot be found', () => {
  const { profile, locate, index, driver } = usersDriver()
  profile(ANN)
  locate(ANN, TOWN.lat, TOWN.lon)
  profile(ANN, { is_active: false }, 'patch')
  expect(index()).toEqual([])
  profile(ANN, { is_active: true }, 'patch')
  expect(index()).toHaveLength(1)
  daysPass(driver, 6)
  locate(ANN, null, null)
  daysPass(driver, 6)
  expect(index()).toHaveLength(1)
  daysPass(driver, 2)
  expect(index()).toEqual([])
  locate(ANN, null, null)
  expect(index()).toHaveLength(1)
  profile(ANN, {}, 'delete')
  expect(index()).toEqual([])
})

test('a swipe counts once, and among several swipes of a pair, including rewinds, the newest counts', () => {
  const { swiped, driver } = usersDriver()
  const first = swipe(ANN, BOB, 'RIGHT', 1_000)
  swiped(first)
  swiped(first)
  swiped(swipe(ANN, BOB, 'LEFT', 500))
  expect(driver.metrics.dropped.get('swipe_without_effect')).toBe(2)
  swiped(swipe(ANN, BOB, 'REWIND', 2_000))
  swiped(swipe(ANN, BOB, 'REWIND', 2_500))
  swiped(swipe(ANN, BOB, 'RIGHT', 1_500))
  expect(driver.read(matchSwipes).map(({ value }) => value?.direction)).toEqual(['RIGHT', 'REWIND'])
  expect(driver.read(pairSwipes).map(({ key, value }) => [key, value?.direction])).toEqual([
    [pairKey(ANN, BOB), 'RIGHT'],
    [pairKey(ANN, BOB), 'REWIND'],
  ])
})

test('a repeated request with a later time does not count again, even after a rewind', () => {
  const { swiped, driver } = usersDriver()
  const first = swipe(ANN, BOB, 'RIGHT', 1_000)
  const rewind = swipe(ANN, BOB, 'REWIND', 2_000)
  for (const event of [first, { ...first, ts: 1_001 }, rewind, { ...first, ts: 2_500 }, { ...rewind, ts: 2_600 }]) swiped(event)
  expect(driver.metrics.dropped.get('swipe_without_effect')).toBe(3)
  expect(driver.read(matchSwipes).map(({ value }) => value?.direction)).toEqual(['RIGHT', 'REWIND'])
  swiped(swipe(ANN, BOB, 'RIGHT', 3_000))
  expect(driver.read(matchSwipes).map(({ value }) => value?.direction)).toEqual(['RIGHT'])
})

test('a repeated request counts once, however many other swipes of the pair came in between', () => {
  const { swiped, driver } = usersDriver()
  const first = swipe(ANN, BOB, 'LEFT', 1_000)
  for (const event of [first, swipe(ANN, BOB, 'RIGHT', 2_000), { ...first, ts: 2_500 }]) swiped(event)
  expect(driver.read(matchSwipes).map(({ value }) => value?.direction)).toEqual(['LEFT', 'RIGHT'])
  for (const event of [swipe(ANN, BOB, 'REWIND', 3_000), swipe(ANN, BOB, 'RIGHT', 4_000), { ...first, ts: 5_000 }]) swiped(event)
  expect(driver.read(pairSwipes).map(({ value }) => value?.direction)).toEqual(['RIGHT', 'REWIND', 'RIGHT'])
})

test('a rewind takes back its swipe even if the rewind arrives before the swipe', () => {
  const { profile, swiped, user, driver } = usersDriver()
  profile(BOB)
  swiped(swipe(ANN, BOB, 'REWIND', 2_000))
  swiped(swipe(ANN, BOB, 'RIGHT', 1_000))
  expect([driver.read(matchSwipes), driver.read(pairSwipes), user(BOB)?.elo_score]).toEqual([[], [], 1_500])
  expect(user(ANN)).toMatchObject({ last_swipe: { direction: 'REWIND' }, exceptions: [{ target_id: BOB }] })
  // The second rewind arrives before the swipe that was made between the two rewinds.
  swiped(swipe(ANN, BOB, 'REWIND', 4_000))
  swiped(swipe(ANN, BOB, 'RIGHT', 3_000))
  expect(driver.read(pairSwipes)).toEqual([])
  swiped(swipe(ANN, BOB, 'RIGHT', 5_000))
  expect(driver.read(pairSwipes)).toHaveLength(1)
})

test('a swipe that the API could not check is dropped if it is invalid, and changes nothing', () => {
  const { profile, swiped, user, driver } = usersDriver()
  profile(ANN)
  swiped(swipe(ANN, ANN, 'RIGHT', driver.now))
  expect(driver.metrics.dropped.get('swipe_at_oneself')).toBe(1)
  expect(driver.read(pairSwipes)).toEqual([])
  // A like on a user without a profile is dropped, so it does not change the score of the profile that the user creates
  // later.
  swiped(swipe(ANN, CAT, 'RIGHT', driver.now))
  expect(driver.metrics.dropped.get('no_such_target')).toBe(1)
  profile(CAT)
  expect(user(CAT)?.elo_score).toBe(1_500)
  profile(ANN, {}, 'delete')
  swiped(swipe(ANN, CAT, 'LEFT', driver.now))
  expect(driver.metrics.dropped.get('before_deletion')).toBe(1)
})

test('match-pairs gets likes and the passes that take back likes, but no other passes', () => {
  const { swiped, driver } = usersDriver()
  swiped(swipe(ANN, BOB, 'LEFT', 1_000))
  swiped(swipe(ANN, CAT, 'SUPER_LIKE', 1_000))
  swiped(swipe(ANN, CAT, 'LEFT', 2_000))
  swiped(swipe(ANN, CAT, 'LEFT', 3_000))
  expect(driver.read(pairSwipes).map(({ value }) => [value?.target_id, value?.direction])).toEqual([
    [CAT, 'SUPER_LIKE'],
    [CAT, 'LEFT'],
  ])
})

test('the score of the target changes only when the direction of the swipe changes, and then by the formula; the score of the swiper never changes', () => {
  const { profile, swiped, user } = usersDriver()
  profile(ANN)
  profile(BOB)
  swiped(swipe(ANN, BOB, 'RIGHT', 1_000))
  expect(user(BOB)?.elo_score).toBe(1_516)
  swiped(swipe(ANN, BOB, 'RIGHT', 2_000))
  swiped(swipe(ANN, BOB, 'REWIND', 3_000))
  swiped(swipe(ANN, BOB, 'RIGHT', 4_000))
  expect(user(BOB)?.elo_score).toBe(1_516)
  swiped(swipe(ANN, BOB, 'LEFT', 5_000))
  expect(user(BOB)?.elo_score).toBe(eloAfter(1_516, 1_500, 'LEFT'))
  expect(user(ANN)?.elo_score).toBe(1_500)
})

test('the index entry is updated if the score differs by more than ten from the score in the entry', () => {
  const { profile, locate, swiped, index } = usersDriver()
  profile(BOB)
  locate(BOB, TOWN.lat, TOWN.lon)
  swiped(swipe(ANN, BOB, 'SUPER_LIKE', 1_000))
  expect(index()).toMatchObject([{ elo: 1_522 }])
  swiped(swipe(CAT, BOB, 'LEFT', 1_000))
  expect(index()).toMatchObject([{ elo: 1_505 }])
})

test('events from before a deletion are dropped, and a new profile starts without history', () => {
  const { profile, locate, swiped, user, driver, index } = usersDriver()
  profile(ANN)
  profile(BOB)
  swiped(swipe(ANN, BOB, 'SUPER_LIKE', driver.now))
  profile(BOB, {}, 'delete')
  locate(BOB, 1, 1, driver.now)
  expect(driver.metrics.dropped.get('before_deletion')).toBe(1)
  driver.advanceWallClock(1_000)
  profile(BOB)
  locate(BOB, TOWN.lat, TOWN.lon)
  expect(user(BOB)).toMatchObject({ elo_score: 1_500, has_profile: true })
  expect(index()).toHaveLength(1)
})

test('the view shows a new profile, and a late swipe of the deleted profile reaches the view, but not match-pairs', () => {
  const { profile, locate, swiped, driver } = usersDriver()
  const selves = () => driver.read(matchSeen).filter(({ key }) => key === `${ANN}:self`)
  profile(ANN)
  const late = swipe(ANN, BOB, 'RIGHT', driver.now)
  driver.advanceWallClock(1_000)
  profile(ANN, {}, 'delete')
  expect(selves().at(-1)?.value).toBeNull()
  profile(ANN)
  locate(ANN, TOWN.lat, TOWN.lon, driver.now + 1)
  expect(selves().at(-1)?.value?.self).toMatchObject({ ...TOWN, elo_score: 1_500 })
  swiped(late)
  expect(selves().at(-1)?.value?.swipes).toMatchObject([{ swipe_id: late.swipe_id }])
  expect(driver.read(pairSwipes)).toEqual([])
})

test('data that the API accepts for a deleted user after the deletion has no effect, and is erased after ten minutes', () => {
  const { profile, locate, swiped, user, index, driver } = usersDriver()
  profile(ANN)
  profile(ANN, {}, 'delete')
  const erased = user(ANN)
  swiped(swipe(ANN, BOB, 'RIGHT', driver.now + 1))
  locate(ANN, TOWN.lat, TOWN.lon, driver.now + 1)
  expect(user(ANN)).toMatchObject({ last_swipe: null })
  expect([driver.store<SeenSetStore<string, string>>('seen').pages(ANN), driver.read(pairSwipes), index()]).toEqual([[], [], []])
  expect(
    driver
      .read(matchSeen)
      .filter(({ key }) => key === `${ANN}:self`)
      .at(-1)?.value,
  ).toBeNull()
  // The swipe and the location wait for a new profile for only ten minutes.
  driver.advanceWallClock(11 * MINUTE_MS)
  expect([...driver.store<KeyedStore<string, SwipeEvent>>('waiting').scan()]).toEqual([])
  expect(user(ANN)).toEqual(erased)
})

test('if no new profile follows, a location that arrives after a deletion is erased, and the broker closes the segments that contain it', () => {
  const { profile, locate, driver } = usersDriver()
  const rolls = () =>
    driver.broker.records('match-users-users-changelog').filter(({ key }) => String(Buffer.from(key!)) === ROLL_KEY).length
  profile(ANN)
  profile(ANN, {}, 'delete')
  driver.advanceWallClock(60 * MINUTE_MS)
  const before = rolls()
  locate(ANN, TOWN.lat, TOWN.lon)
  driver.advanceWallClock(60 * MINUTE_MS)
  expect(rolls()).toBeGreaterThan(before)
})

test('a location of a user who has returned counts even if it is read before the new profile', () => {
  const { profile, locate, index, driver } = usersDriver()
  profile(ANN)
  profile(ANN, {}, 'delete')
  const deletedAt = driver.now
  locate(ANN, 1, 1, deletedAt)
  locate(ANN, TOWN.lat, TOWN.lon, deletedAt + 2)
  expect(index()).toEqual([])
  profile(ANN)
  expect(index()).toMatchObject([{ userId: ANN, place: TOWN }])
  // The location is no longer waiting, so it stays.
  driver.advanceWallClock(11 * MINUTE_MS)
  expect(index()).toMatchObject([{ userId: ANN, place: TOWN }])
})

test('a swipe of a user who has returned counts even if it is read before the new profile', () => {
  const { profile, swipedBefore, driver } = usersDriver()
  profile(ANN)
  profile(BOB)
  profile(ANN, {}, 'delete')
  const like = swipe(ANN, BOB, 'RIGHT', driver.now + 2)
  swipedBefore(like)
  profile(ANN)
  expect(driver.read(matchSwipes).map(({ value }) => value)).toEqual([like])
  expect(driver.read(pairSwipes)).toHaveLength(1)
})

test('if a user recreates a deleted profile, new swipes change scores even while the old swipes on the same users are still stored', () => {
  const { profile, swiped, user, driver } = usersDriver()
  profile(ANN)
  profile(BOB)
  swiped(swipe(ANN, BOB, 'RIGHT', driver.now))
  profile(ANN, {}, 'delete')
  profile(ANN)
  swiped(swipe(ANN, BOB, 'RIGHT', driver.now + 1))
  expect(user(BOB)?.elo_score).toBe(eloAfter(1_516, 1_500, 'RIGHT'))
})

test('swipes are forgotten after 90 days', () => {
  const { swiped, driver } = usersDriver()
  swiped(swipe(ANN, BOB, 'LEFT', driver.now))
  daysPass(driver, 89)
  expect([...driver.store<KeyedStore<string, unknown>>('swipes').scan()]).toHaveLength(1)
  daysPass(driver, 2)
  expect([...driver.store<KeyedStore<string, unknown>>('swipes').scan()]).toHaveLength(0)
})

test('the last swipe and the rewound targets of a user are forgotten after 90 days, and the view reflects this', () => {
  const { profile, swiped, user, driver } = usersDriver()
  const rewound = swipe(ANN, CAT, 'LEFT', driver.now)
  profile(ANN)
  swiped(rewound)
  swiped({ ...rewound, swipe_id: randomUUID(), direction: 'REWIND', ts: rewound.ts + 1 })
  swiped(swipe(ANN, BOB, 'LEFT', rewound.ts + 2))
  daysPass(driver, 89)
  expect(user(ANN)).toMatchObject({ exceptions: [{ target_id: CAT }], last_swipe: { target_id: BOB } })
  driver.read(matchSeen)
  daysPass(driver, 2)
  expect(user(ANN)).toMatchObject({ exceptions: [], last_swipe: null })
  expect(driver.read(matchSeen).filter(({ key }) => key === `${ANN}:self`)).toMatchObject([
    { value: { self: { exceptions: [], last_swipe: null } } },
  ])
})

test('a deletion makes the broker close the segments that contain the user, and an idle system adds no records', () => {
  const { profile, driver } = usersDriver()
  const rolls = () =>
    [matchSeen.name, matchIndex.name, 'match-users-users-changelog'].map(
      (topic) => driver.broker.records(topic).filter(({ key }) => String(Buffer.from(key!)) === ROLL_KEY).length,
    )
  profile(ANN)
  for (let passed = 0; passed < 120; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  const before = rolls()
  for (let passed = 0; passed < 60; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  expect(rolls()).toEqual(before)
  profile(ANN, {}, 'delete')
  for (let passed = 0; passed < 30; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
  expect(rolls()).toEqual(before.map((count) => count + 6))
})

test('the time until a swipe is forgotten begins at its timestamp, even if the swipe arrives late', () => {
  const { swiped, driver } = usersDriver()
  const seen = () => driver.store<SeenSetStore<string, string>>('seen')
  swiped(swipe(ANN, BOB, 'LEFT', driver.now - 29 * DAY_MS))
  swiped(swipe(CAT, BOB, 'LEFT', driver.now))
  expect(seen().has(ANN, BOB, driver.now)).toBe(true)
  daysPass(driver, 5)
  expect(seen().pages(ANN)).toEqual([])
  expect(seen().has(CAT, BOB, driver.now)).toBe(true)
})

const STEPS: readonly CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']

test.each(STEPS)('a crash after the commit step %s neither loses nor repeats a swipe', (step) => {
  for (const wipeState of [false, true]) {
    const { profile, locate, swipedBefore, user, index, driver } = usersDriver()
    profile(ANN)
    profile(BOB)
    locate(BOB, TOWN.lat, TOWN.lon)
    driver.crashAt(step)
    expect(() => swipedBefore(swipe(ANN, BOB, 'RIGHT', driver.now))).toThrow('crash')
    driver.restart({ wipeState })
    driver.settle()
    expect(user(BOB)?.elo_score).toBe(1_516)
    expect(driver.read(pairSwipes)).toHaveLength(1)
    expect(index()).toHaveLength(1)
  }
})

test('the swipes of a deleted user are removed, and the swipes of a new profile stay', () => {
  const { profile, swiped, driver } = usersDriver()
  const rows = () => [...driver.store<KeyedStore<string, unknown>>('swipes').scan()].map(([key]) => key)
  profile(ANN)
  swiped(swipe(ANN, BOB, 'RIGHT', driver.now))
  swiped(swipe(CAT, BOB, 'RIGHT', driver.now))
  profile(ANN, {}, 'delete')
  profile(ANN)
  swiped(swipe(ANN, CAT, 'RIGHT', driver.now + 1))
  driver.advanceWallClock(2_000)
  expect(rows()).toEqual([`${ANN}:${CAT}`, `${CAT}:${BOB}`])
})

test('a swipe by a user without a profile is not published, changes no score, and is dropped after ten minutes', () => {
  const { driver, profile, swipedBefore, user } = usersDriver()
  profile(BOB)
  swipedBefore(swipe(ANN, BOB, 'RIGHT', driver.now))
  const rows = () => [...driver.store<KeyedStore<string, SwipeEvent>>('waiting').scan()]
  expect(rows()).toHaveLength(1)
  driver.advanceWallClock(11 * MINUTE_MS)
  expect(rows()).toEqual([])
  profile(ANN)
  expect([driver.read(matchSwipes), driver.read(pairSwipes), user(BOB)?.elo_score]).toEqual([[], [], 1_500])
  expect(driver.store<SeenSetStore<string, string>>('seen').has(ANN, BOB, driver.now)).toBe(false)
})

test('ten minutes after the first swipe of a user without a profile, all waiting swipes of the user are dropped, including later ones', () => {
  const { driver, profile, swipedBefore } = usersDriver()
  swipedBefore(swipe(ANN, BOB, 'RIGHT', driver.now))
  driver.advanceWallClock(9 * MINUTE_MS)
  swipedBefore(swipe(ANN, CAT, 'RIGHT', driver.now))
  driver.advanceWallClock(2 * MINUTE_MS)
  profile(ANN)
  expect(driver.read(matchSwipes)).toEqual([])
})

test("swipes that are read before the swiper's profile take effect once each when the profile arrives", () => {
  const { driver, profile, swipedBefore, user } = usersDriver()
  profile(BOB)
  const [like, pass] = [swipe(ANN, BOB, 'RIGHT', driver.now), swipe(ANN, BOB, 'LEFT', driver.now + 1)]
  for (const event of [pass, like, like]) swipedBefore(event)
  driver.restart({ downMs: MINUTE_MS })
  profile(ANN)
  expect(driver.read(matchSwipes).map(({ value }) => value)).toEqual([like, pass])
  expect(driver.read(pairSwipes).map(({ value }) => value?.direction)).toEqual(['RIGHT', 'LEFT'])
  expect(user(BOB)?.elo_score).toBe(eloAfter(eloAfter(1_500, 1_500, 'RIGHT'), 1_500, 'LEFT'))
  swipedBefore(like)
  profile(ANN, { bio: 'x' }, 'patch')
  expect(driver.read(matchSwipes)).toEqual([])
})

test('a swipe that waits for a profile is void if it is from before a deletion', () => {
  const { driver, profile, swipedBefore } = usersDriver()
  swipedBefore(swipe(ANN, BOB, 'RIGHT', driver.now))
  driver.advanceWallClock(1_000)
  const body = profileCommand('put', { display_name: 'X', birth_date: '1990-05-01' })
  const { state } = decideProfile(undefined, body, { key: ANN, now: driver.now, commandId: 'c' })
  driver.pipe(matchProfiles, ANN, { view: { ...(state as MatchProfile), deleted_at: driver.now }, result: null })
  driver.advanceWallClock(1_000)
  profile(ANN)
  const after = swipe(ANN, CAT, 'RIGHT', driver.now)
  swipedBefore(after)
  expect(driver.read(matchSwipes).map(({ value }) => value)).toEqual([after])
})
