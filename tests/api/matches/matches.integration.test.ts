import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { apiTransport } from '../../../api/kit/kafka.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { conversationIdOf, matchIdOf } from '../../../schemas/matches/pair.ts'
import { swipeEvents } from '../../../schemas/matches/topics.ts'
import { cellOf, geohashOf } from '../../../state/views/matches/candidates/cells.ts'
import { parseMember } from '../../../state/views/matches/candidates/index-member.ts'
import { cellKey } from '../../../state/views/matches/index-cells.ts'
import { parseStack } from '../../../state/views/matches/stack.ts'
import { userKeys } from '../../../state/views/matches/users.ts'
import { readToEnd } from '../../kafka/client/harness.ts'
import { AT_FIRST_TRY } from '../../stack/index.ts'
import { suspend } from '../../stack/suspend.ts'
import { matchesSystem, type TestUser } from './system.ts'

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/
const SOON = { timeout: 60_000, interval: 50 }
/**
 * Pause between two reads of a feed. A user may read 60 feeds a minute, and an empty feed triggers another search only
 * after five seconds.
 */
const NEXT_FEED_MS = 1_500
/**
 * Number of the next town. Each test uses a separate town, far from the others, so that users of different tests never
 * find each other.
 */
let nextTown = 0

let system: Awaited<ReturnType<typeof matchesSystem>>
/**
 * Couples who already find each other in their feeds. They are created at the same time, because the creation of each
 * couple includes a wait: an empty feed triggers another search only after a pause.
 */
let couples: Couple[]
const COUPLES = 10
beforeAll(async () => {
  system = await matchesSystem()
  couples = await Promise.all(Array.from({ length: COUPLES }, newCouple))
})

interface Couple {
  readonly ann: TestUser
  readonly bob: TestUser
}

function townLatitude(town: number): number {
  return -40 + town * 8
}

/** Creates a user with a profile, `north` degrees north of the centre of a town. */
async function person(town: number, north: number, profile: object = {}, options: { api?: number; id?: string } = {}): Promise<TestUser> {
  const user = await system.user(options)
  const answer = await user.ask('PUT', 'me', { display_name: 'X', birth_date: '1990-05-01', ...profile })
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ user_id: user.id })])
  const { status } = await user.ask('POST', 'location', { lat: townLatitude(town) + north, lon: 10, accuracy_m: 20 })
  expect(status).toBe(204)
  return user
}

async function foundBy(user: TestUser): Promise<string[]> {
  const { status, body } = await user.ask('GET', 'feed')
  expect([status, body.error]).toEqual([200, undefined])
  return body.candidates.map(({ user_id }: { user_id: string }) => user_id)
}

async function newCouple(): Promise<Couple> {
  const town = nextTown++
  const ann = await person(town, 0, { display_name: 'Ann', gender: 'f', seeking_gender: ['m'] })
  const bob = await person(town, 0.009, { display_name: 'Bob', gender: 'm', seeking_gender: ['f'], bio: 'hello' }, { api: 1 })
  const wait = { timeoutMs: SOON.timeout, intervalMs: NEXT_FEED_MS }
  await waitUntil(async () => (await foundBy(ann))[0] === bob.id, { what: 'the feed of Ann', ...wait })
  await waitUntil(async () => (await foundBy(bob))[0] === ann.id, { what: 'the feed of Bob', ...wait })
  return { ann, bob }
}

/** Returns an unused couple, so that a repeated test gets another one. */
async function couple(): Promise<Couple> {
  return couples.pop() ?? (await newCouple())
}

/** Returns the sorted keys of the push notifications about a couple's match. */
function pushKeys({ id: a }: TestUser, { id: b }: TestUser): string[] {
  return [`${matchIdOf(a, b)}:${a}`, `${matchIdOf(a, b)}:${b}`].sort()
}

const like = (target: TestUser, direction = 'RIGHT') => ({ target_user_id: target.id, direction })

describe('two users who like each other', () => {
  test('users who like each other find each other, match, and then no longer find each other', async () => {
    const { ann, bob } = await couple()
    const feed = await ann.ask('GET', 'feed')
    expect(feed.body).toMatchObject({ stack_ttl_s: 300, location_age_s: expect.any(Number) })
    expect(feed.body.candidates[0]).toEqual({
      user_id: bob.id,
      display_name: 'Bob',
      age: expect.any(Number),
      bio: 'hello',
      distance_km: 1,
      photo_urls: [],
      score: expect.any(Number),
    })
    const first = await ann.ask('POST', 'swipe', like(bob))
    expect([first.status, first.body.match]).toEqual([200, null])
    expect(await foundBy(ann)).toEqual([])
    await expect.poll(async () => (await bob.ask('GET', 'likes')).body.likes, SOON).toMatchObject([{ user_id: ann.id, super_like: false }])
    const second = await bob.ask('POST', 'swipe', like(ann, 'SUPER_LIKE'))
    const match = { match_id: matchIdOf(ann.id, bob.id), conversation_id: conversationIdOf(ann.id, bob.id) }
    expect([second.status, second.body.match]).toEqual([200, { matched: true, ...match }])
    expect((await ann.ask('POST', 'swipe/rewind')).body.error).toBe('already_matched')
    await expect.poll(() => system.pushes.keysOf(match.match_id), SOON).toEqual(pushKeys(ann, bob))
    for (const [user, other] of [
      [ann, bob],
      [bob, ann],
    ])
      await expect.poll(async () => (await user.ask('GET', 'matches')).body.matches, SOON).toMatchObject([{ ...match, user_id: other.id }])
    const swipes = () => system.rowsOf(`SELECT direction FROM match_swipes FINAL WHERE swiper_id IN ('${ann.id}', '${bob.id}') ORDER BY ts`)
    await expect.poll(swipes, SOON).toEqual([{ direction: 'RIGHT' }, { direction: 'SUPER_LIKE' }])
    const matches = () => system.rowsOf(`SELECT toString(conversation_id) AS id FROM matches FINAL WHERE match_id = '${match.match_id}'`)
    await expect.poll(matches, SOON).toEqual([{ id: match.conversation_id }])
    expect((await ann.ask('POST', 'swipe/rewind')).body.error).toBe('already_matched')
    expect((await ann.ask('PUT', `blocks/${bob.id}`)).status).toBe(204)
    expect((await bob.ask('GET', 'matches')).body).toMatchObject({ matches: [], total: 0 })
    expect((await bob.ask('POST', 'swipe', like(ann))).body.error).toBe('profile_not_found')
    await expect.poll(async () => (await ann.ask('GET', 'blocks')).body.blocks, SOON).toEqual([{ user_id: bob.id }])
    const pushes = system.pushes.received.filter(({ body }) => body.data.match_id === match.match_id)
    expect(
      pushes.map(({ isGenuine, body }) => ({ isGenuine, type: body.type, user: body.data.user_id, other: body.data.other_id })),
    ).toEqual(
      expect.arrayContaining([
        { isGenuine: true, type: 'match.created', user: ann.id, other: bob.id },
        { isGenuine: true, type: 'match.created', user: bob.id, other: ann.id },
      ]),
    )
    expect(pushes).toHaveLength(2)
  })

  test('a match that one user ends disappears for both users', async () => {
    const { ann, bob } = await couple()
    await ann.ask('POST', 'swipe', like(bob))
    await bob.ask('POST', 'swipe', like(ann))
    await expect.poll(async () => (await ann.ask('GET', 'matches')).body.total, SOON).toBe(1)
    const id = matchIdOf(ann.id, bob.id)
    expect((await ann.ask('DELETE', `matches/${randomUUID()}`)).body.error).toBe('match_not_found')
    expect((await ann.ask('DELETE', `matches/${id}`)).status).toBe(204)
    expect((await ann.ask('GET', 'matches')).body.total).toBe(0)
    expect((await bob.ask('GET', 'matches')).body.total).toBe(0)
    expect(await foundBy(bob)).toEqual([])
  })
})

describe('push notifications that the webhook does not accept', () => {
  afterEach(() => {
    system.pushes.control.status = 204
  })

  /** Lets two users match while the webhook refuses pushes. Their pushes then wait for the next attempt. */
  async function matchWithoutPush({ ann, bob }: Couple): Promise<string> {
    const id = matchIdOf(ann.id, bob.id)
    system.pushes.control.status = 503
    await ann.ask('POST', 'swipe', like(bob))
    await bob.ask('POST', 'swipe', like(ann))
    await expect.poll(() => system.pushes.refusalsOf(id), SOON).toBeGreaterThanOrEqual(2)
    return id
  }

  test('waiting pushes are dropped when one user blocks the other in the meantime', async () => {
    const { ann, bob } = await couple()
    const before = await system.droppedPushes('severed')
    const id = await matchWithoutPush({ ann, bob })
    expect((await ann.ask('PUT', `blocks/${bob.id}`)).status).toBe(204)
    system.pushes.control.status = 204
    await expect.poll(() => system.droppedPushes('severed'), SOON).toBe(before + 2)
    expect(system.pushes.keysOf(id)).toEqual([])
  })

  test('waiting pushes arrive later, under the same key, even after kill -9 of the worker', async () => {
    const { ann, bob } = await couple()
    const id = await matchWithoutPush({ ann, bob })
    await system.worker.kill()
    system.pushes.control.status = 204
    await system.worker.restart()
    await expect.poll(() => new Set(system.pushes.keysOf(id)), SOON).toEqual(new Set(pushKeys(ann, bob)))
    await expect.poll(() => system.worker.isReady(), SOON).toBe(true)
  })
})

test('repetitions of a swipe with the same key get the same id, and a rewind brings the target back once', async () => {
  const { ann, bob } = await couple()
  const key = { 'idempotency-key': randomUUID() }
  const answers = await Promise.all([1, 2, 3].map(() => ann.ask('POST', 'swipe', like(bob, 'LEFT'), key)))
  expect(new Set(answers.map(({ body }) => body.swipe_id)).size).toBe(1)
  expect(await foundBy(ann)).toEqual([])
  const rewindKey = { 'idempotency-key': randomUUID() }
  const rewound = await ann.ask('POST', 'swipe/rewind', undefined, rewindKey)
  expect([rewound.status, rewound.body]).toMatchObject([200, { target_user_id: bob.id, direction: 'LEFT' }])
  expect(await foundBy(ann)).toEqual([bob.id])
  expect(await ann.ask('POST', 'swipe/rewind', undefined, rewindKey)).toEqual(rewound)
  expect(await foundBy(ann)).toEqual([bob.id])
  expect((await ann.ask('POST', 'swipe/rewind')).body.error).toBe('nothing_to_rewind')
  await ann.ask('POST', 'swipe', like(bob, 'LEFT'))
  expect(await foundBy(ann)).toEqual([])
})

test('a deleted or deactivated user is hidden immediately, and a user who is active again is found again', async () => {
  const { ann, bob } = await couple()
  expect((await bob.ask('PATCH', 'me', { is_active: false })).body.is_active).toBe(false)
  expect(await foundBy(ann)).toEqual([])
  expect((await bob.ask('GET', 'feed')).body.error).toBe('profile_inactive')
  expect((await bob.ask('PATCH', 'me', { is_active: true })).status).toBe(200)
  await expect.poll(() => foundBy(ann), { ...SOON, interval: NEXT_FEED_MS }).toEqual([bob.id])
  expect((await bob.ask('DELETE', 'me')).status).toBe(204)
  expect((await bob.ask('DELETE', 'me')).body.error).toBe('profile_not_found')
  expect((await bob.ask('GET', 'me')).body.error).toBe('profile_not_found')
  expect(await foundBy(ann)).toEqual([])
  expect((await ann.ask('POST', 'swipe', like(bob))).body.error).toBe('profile_not_found')
})

async function readiness(api: number) {
  const response = await fetch(`${system.apis[api].url}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** Returns the swipe ids of a user in the topic, in the order of the log. */
async function loggedSwipes(swiper: TestUser): Promise<string[]> {
  const transport = apiTransport({ brokers: [system.env.KAFKA_BROKERS], log: createLogger('silent') })
  try {
    await transport.connect()
    const records = await readToEnd(transport, { topic: swipeEvents.name, partition: 0 })
    return records.filter(({ key }) => key === swiper.id).map(({ value }) => (value as string).match(UUID)?.[0] as string)
  } finally {
    await transport.close()
  }
}

test(
  'swipes that are sent while the broker is stopped get 202, survive kill -9 of the API, and reach the topic in order',
  AT_FIRST_TRY,
  async () => {
    const town = nextTown++
    const ann = await person(town, 0, { gender: 'f', seeking_gender: ['m'] })
    const bobs = await Promise.all([1, 2, 3, 4, 5, 6].map((index) => person(town, index / 100, { gender: 'm' }, { api: 1 })))
    await expect.poll(() => foundBy(ann).then(({ length }) => length), { ...SOON, interval: NEXT_FEED_MS }).toBe(6)
    const ids: string[] = []
    async function queued(target: TestUser): Promise<void> {
      const { status, body } = await ann.ask('POST', 'swipe', like(target))
      expect([status, body]).toEqual([202, { swipe_id: expect.stringMatching(UUID), match: null, queued: true }])
      ids.push(body.swipe_id)
    }
    const pid = system.kafka.pid as number
    await suspend(pid)
    try {
      for (const bob of bobs.slice(0, 5)) await queued(bob)
      await system.restartApi(0)
      // The restarted API cannot ask Kafka for the view's partition count, so it reads the count from Redis.
      await expect.poll(async () => (await ann.ask('GET', 'me')).status, SOON).toBe(200)
      // The API reports that it is ready, although it has not read the rate limit rules yet.
      await expect
        .poll(() => readiness(0), SOON)
        .toMatchObject({ status: 200, body: { degraded: expect.arrayContaining([{ name: 'kafka' }]) } })
      await queued(bobs[5])
      const { status, body } = await ann.ask('POST', 'swipe/rewind')
      expect([status, body]).toEqual([202, { swipe_id: expect.any(String), target_user_id: bobs[5].id, direction: 'RIGHT', queued: true }])
      ids.push(body.swipe_id)
      expect((await ann.ask('POST', 'swipe/rewind')).body.error).toBe('nothing_to_rewind')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await expect.poll(async () => new Set(await loggedSwipes(ann)).size, SOON).toBe(ids.length)
    // A swipe that was in flight to the broker when the API was killed may be in the topic twice.
    const logged = await loggedSwipes(ann)
    let at = -1
    for (const id of ids) {
      at = logged.indexOf(id, at + 1)
      expect([id, at, logged]).toEqual([id, expect.toSatisfy((index: number) => index >= 0), logged])
    }
    expect(await foundBy(ann)).toEqual([bobs[5].id])
    // Later tests use the restarted process. It may still be reconnecting, so this test waits until it is ready.
    await waitUntil(async () => (await fetch(`${system.apis[0].url}/readyz`)).ok, {
      what: 'the API',
      timeoutMs: SOON.timeout,
      intervalMs: SOON.interval,
    })
  },
)

test('swipes that are sent while Redis does not respond are accepted, and hide their targets when Redis is back', async () => {
  const town = nextTown++
  const ann = await person(town, 0)
  const [bob, carl] = await Promise.all([1, 2].map((far) => person(town, far / 1_000, {}, { api: 1 })))
  await expect.poll(async () => (await foundBy(ann)).length, { ...SOON, interval: NEXT_FEED_MS }).toBe(2)
  const pid = system.redis.pid as number
  await suspend(pid)
  try {
    const { status, body } = await ann.ask('POST', 'swipe', like(bob))
    // On a busy machine, Kafka may also miss its time limit. The status is then 202.
    expect([200, 202]).toContain(status)
    expect(body).toMatchObject({ swipe_id: expect.stringMatching(UUID), match: null })
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  const feed = async () => (await ann.ask('GET', 'feed')).body.candidates?.map(({ user_id }: { user_id: string }) => user_id)
  await expect.poll(feed, SOON).toBeDefined()
  expect(await foundBy(ann)).toEqual([carl.id])
  await expect.poll(async () => (await bob.ask('GET', 'likes')).body.likes, SOON).toMatchObject([{ user_id: ann.id }])
})

test('a swipe that leaves fewer than five candidates makes a worker search for new candidates', async () => {
  const town = nextTown++
  const ann = await person(town, 0)
  const others = await Promise.all([1, 2, 3, 4, 5].map((far) => person(town, far / 1_000)))
  await expect.poll(async () => (await foundBy(ann)).length, { ...SOON, interval: NEXT_FEED_MS }).toBe(others.length)
  const redis = new Redis(system.redis.address)
  onTestFinished(() => redis.disconnect())
  const stack = async () => parseStack(await redis.hgetall(userKeys(0, ann.id).stack))
  const before = await stack()
  const newcomer = await person(town, 0.006, {}, { api: 1 })
  const cell = geohashOf(cellOf({ lat: townLatitude(town) + 0.006, lon: 10 }, 4))
  const indexed = async () => (await redis.zrange(cellKey(0, cell), '0', '-1')).map((member) => parseMember(member).userId)
  await expect.poll(indexed, SOON).toContain(newcomer.id)
  await ann.ask('POST', 'swipe', like(others[0], 'LEFT'))
  await expect.poll(async () => (await stack())?.builtAt, SOON).toBeGreaterThan(before?.builtAt as number)
  const ids = (await stack())?.candidates.map(({ userId }) => userId)
  expect(new Set(ids)).toEqual(new Set([newcomer.id, ...others.slice(1).map(({ id }) => id)]))
})

test("the place in a feed request updates the user's place, and a latitude without a longitude is refused", async () => {
  const { ann } = await couple()
  expect((await ann.ask('GET', 'feed?lat=1')).body).toMatchObject({ error: 'invalid_request', details: [{ path: 'query.lon' }] })
  expect((await ann.ask('GET', 'feed?lat=80&lon=170')).body).toMatchObject({ candidates: [], location_age_s: 0 })
  await expect.poll(async () => (await ann.ask('GET', 'me')).body, SOON).toMatchObject({ lat: 80, lon: 170, geohash6: expect.any(String) })
})

test('a user who has moved 20 times must wait before moving again, even with a new profile', async () => {
  const { ann } = await couple()
  const move = async (index: number) => (await ann.ask('GET', `feed?lat=${index}&lon=100`)).status
  const statuses: number[] = []
  for (let index = 0; index < 21; index++) statuses.push(await move(index))
  expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429])
  expect((await ann.ask('POST', 'location', { lat: 50, lon: 100 })).body.error).toBe('rate_limit_exceeded')
  expect((await ann.ask('GET', `feed?lat=19.001&lon=100`)).status).toBe(200)
  // Users who delete and recreate their profile lose their stored location, but the limit on moves still applies.
  const key = { 'idempotency-key': randomUUID() }
  await expect.poll(async () => (await ann.ask('DELETE', 'me', undefined, key)).status, SOON).toBe(204)
  const location = async () => (await ann.ask('POST', 'location', { lat: 50, lon: 100 })).status
  expect(await location()).toBe(404)
  const profile = { display_name: 'Ann', birth_date: '1990-05-01' }
  await expect.poll(async () => (await ann.ask('PUT', 'me', profile)).status, SOON).toBeLessThan(300)
  expect(await location()).toBe(429)
  expect((await ann.ask('GET', 'feed?lat=50&lon=100')).body.error).toBe('rate_limit_exceeded')
  // The view keeps the former location until the worker has removed it.
  await expect.poll(async () => (await ann.ask('GET', 'feed')).body.error, SOON).toBe('location_required')
})

test('a rewound profile comes first', async () => {
  const town = nextTown++
  const ann = await person(town, 0)
  const others = await Promise.all([1, 2, 3].map((far) => person(town, far / 1_000)))
  await expect.poll(async () => (await foundBy(ann)).length, { ...SOON, interval: NEXT_FEED_MS }).toBe(others.length)
  const order = await foundBy(ann)
  const last = others.find(({ id }) => id === order[2]) as TestUser
  await ann.ask('POST', 'swipe', like(last, 'LEFT'))
  expect(await foundBy(ann)).toEqual(order.slice(0, 2))
  await ann.ask('POST', 'swipe/rewind')
  expect(await foundBy(ann)).toEqual([order[2], order[0], order[1]])
})

test('an administrator can find out why one user does not see another', async () => {
  const { ann, bob } = await couple()
  const admin = await system.user({ scope: 'admin' })
  // On a busy machine, the first request may get a 503; its repetition with the same key gets the result of the
  // command. Once a command has succeeded, every read shows its effect.
  const key = { 'idempotency-key': randomUUID() }
  await expect.poll(async () => (await ann.ask('PATCH', 'me', { max_age_pref: 30 }, key)).status, SOON).toBe(200)
  const explained = async () => (await admin.ask('GET', `feed/explain?user=${ann.id}&candidate=${bob.id}`)).body
  expect(await explained()).toMatchObject({
    passed: false,
    verdicts: expect.arrayContaining([expect.objectContaining({ filter: 'age', passed: false })]),
  })
  expect((await ann.ask('GET', `feed/explain?user=${ann.id}&candidate=${bob.id}`)).status).toBe(403)
})

describe('invalid requests get specific errors', () => {
  test('feeds, swipes, rewinds, locations and blocks', async () => {
    const { ann } = await couple()
    const stranger = await system.user()
    expect((await stranger.ask('GET', 'feed')).body.error).toBe('profile_not_found')
    expect((await stranger.ask('POST', 'swipe', like(ann))).body.error).toBe('profile_not_found')
    expect((await ann.ask('POST', 'swipe', like(ann))).body.error).toBe('invalid_target')
    expect((await ann.ask('POST', 'swipe', like(stranger))).body.error).toBe('profile_not_found')
    expect((await ann.ask('POST', 'swipe', { target_user_id: 'nonsense', direction: 'RIGHT' })).body.error).toBe('invalid_request')
    expect((await ann.ask('POST', 'swipe', { target_user_id: stranger.id, direction: 'UP' })).body.error).toBe('invalid_request')
    expect((await ann.ask('POST', 'swipe/rewind')).body.error).toBe('nothing_to_rewind')
    for (const place of [{ lat: 91, lon: 0 }, { lat: 0, lon: 181 }, { lat: null, lon: 0 }, { lat: 1 }])
      expect((await ann.ask('POST', 'location', place)).body.error).toBe('invalid_request')
    for (const limit of ['0', '51', '1.5', 'x']) expect((await ann.ask('GET', `feed?limit=${limit}`)).body.error).toBe('invalid_request')
    for (const lat of ['NaN', '91', '1e1']) expect((await ann.ask('GET', `feed?lat=${lat}&lon=0`)).body.error).toBe('invalid_request')
    expect((await ann.ask('PUT', `blocks/${ann.id}`)).body.error).toBe('invalid_target')
    expect((await ann.ask('PUT', 'blocks/nonsense')).status).toBe(400)
    const decimal = await system.user({ id: '42' })
    expect((await decimal.ask('GET', 'me')).status).toBe(403)
  })

  test('profiles', async () => {
    const user = await system.user()
    const whole = { display_name: 'X', birth_date: '1990-05-01' }
    const young = `${new Date().getUTCFullYear() - 17}-01-01`
    expect((await user.ask('PUT', 'me', { ...whole, birth_date: young })).body.error).toBe('under_age')
    for (const wrong of [
      { display_name: 'x'.repeat(51) },
      { display_name: '' },
      { birth_date: '1990-02-30' },
      { gender: 'x'.repeat(21) },
      { seeking_gender: Array.from({ length: 11 }, () => 'x') },
      { bio: 'x'.repeat(2_001) },
      { min_age_pref: 17 },
      { max_age_pref: 121 },
      { min_age_pref: 50, max_age_pref: 40 },
      { max_dist_km: 0 },
      { max_dist_km: 501 },
      { photo_urls: ['http://example.com/x.jpg'] },
      { photo_urls: Array.from({ length: 10 }, () => 'https://example.com/x.jpg') },
    ])
      expect([wrong, (await user.ask('PUT', 'me', { ...whole, ...wrong })).body.error]).toEqual([wrong, 'invalid_request'])
    expect((await user.ask('PUT', 'me', { ...whole, display_name: '😀'.repeat(50) })).status).toBe(201)
    expect((await user.ask('PUT', 'me', whole)).status).toBe(200)
    expect((await user.ask('PATCH', 'me', { min_age_pref: 100 })).body.error).toBe('invalid_request')
    expect((await user.ask('PATCH', 'me', {})).body.error).toBe('invalid_request')
    expect((await user.ask('GET', 'me')).body).toMatchObject({ display_name: 'X', min_age_pref: 18, lat: null })
    expect((await user.ask('GET', 'feed')).body.error).toBe('location_required')
  })
})
