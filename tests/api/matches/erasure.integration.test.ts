import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { contentOf } from '../../stack/content-of.ts'
import { AT_FIRST_TRY, testStack } from '../../stack/index.ts'
import { type MatchesSystem, matchesSystem, type TestUser } from './system.ts'

const SETUP_TIMEOUT_MS = 120_000
/** Time limit of the test, which takes less than a minute on an idle machine. */
const TEST_TIMEOUT_MS = 240_000
/** Replaces the usual time limit for erasures, which is an hour, so that the test is short. */
const ERASE_WITHIN_SECONDS = 10
const SOON = { timeoutMs: 60_000, intervalMs: 200 }
/**
 * Time limit for erasing everything. The polling interval is long because each poll sends a location update, and a user
 * may send only 30 of these a minute.
 */
const GONE = { timeoutMs: 150_000, intervalMs: 2_500 }

const COMPACTED = {
  'segment.ms': '1000',
  'max.compaction.lag.ms': '1000',
  'delete.retention.ms': '1000',
  'file.delete.delay.ms': '100',
}
const KEPT_SHORTLY = { 'segment.ms': '1000', 'retention.ms': '15000', 'file.delete.delay.ms': '100' }
/**
 * All topics that contain more about a user than ids, with configurations that make Kafka delete old records quickly.
 */
const TOPICS = new Map<string, Readonly<Record<string, string>>>([
  ['match-profile-commands', KEPT_SHORTLY],
  ['location-updates', KEPT_SHORTLY],
  ['match-users-located-repartition', KEPT_SHORTLY],
  ['match-profiles', COMPACTED],
  ['match-profiles-profiles-changelog', COMPACTED],
  ['match-users-users-changelog', COMPACTED],
  ['match-seen', COMPACTED],
  ['match-index', COMPACTED],
])
const BROKER = {
  'log.retention.check.interval.ms': 500,
  'log.initial.task.delay.ms': 500,
  'log.cleaner.backoff.ms': 500,
}
/** The index stores places in units of a hundred-thousandth of a degree. */
const UNITS_PER_DEGREE = 100_000

let system: MatchesSystem
beforeAll(async () => {
  system = await matchesSystem({
    registry: await testStack().registry(),
    apiCount: 1,
    brokerSettings: BROKER,
    onTopics: shortenTopics,
    env: { ERASE_WITHIN_SECONDS: String(ERASE_WITHIN_SECONDS) },
  })
}, SETUP_TIMEOUT_MS)

async function shortenTopics(brokers: string): Promise<void> {
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'test' }, { runtime: systemRuntime() })
  await transport.connect()
  await transport.configureTopics(Array.from(TOPICS, ([name, config]) => ({ name, partitions: 1, config })))
  await transport.close()
}

/**
 * Returns the sorted names of the stores whose files contain one of these byte strings. A store is a topic, `redis`
 * (the files of Redis) or `state` (the state of the worker).
 */
function holding(needles: readonly Buffer[]): string[] {
  const { path } = system.folder
  const logs = join(path, 'kafka', 'logs')
  const topics = readdirSync(logs, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const folders = new Map([
    ...topics.map(({ name }) => [name.replace(/-\d+$/, ''), join(logs, name)] as const),
    ['redis', join(path, 'redis')],
    ['state', join(path, 'state-0')],
  ])
  return [...folders].flatMap(([name, folder]) => (hasAny(folder, needles) ? [name] : [])).sort()
}

function hasAny(folder: string, needles: readonly Buffer[]): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => {
    if (!entry.isFile()) return false
    const bytes = contentOf(join(entry.parentPath, entry.name))
    return needles.some((needle) => bytes.includes(needle))
  })
}

/** Encodes a number as Avro does. */
function avroDouble(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

async function newUser(profile: object, place: object): Promise<TestUser> {
  const user = await system.user()
  expect((await user.ask('PUT', 'me', profile)).status).toBe(201)
  expect((await user.ask('POST', 'location', place)).status).toBe(204)
  return user
}

test('soon after the erasure of a user is due, their profile and location are gone from the topics, Redis and the state of the worker', {
  ...AT_FIRST_TRY,
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const mark = randomBytes(6).toString('hex')
  // The place is random, because files may still contain the place of an earlier run of the test.
  const units = { lat: randomInt(1_000_000, 6_000_000), lon: randomInt(1_000_000, 9_000_000) }
  const place = { lat: units.lat / UNITS_PER_DEGREE, lon: units.lon / UNITS_PER_DEGREE }
  const profile = {
    display_name: `name-${mark}`,
    birth_date: '1990-05-01',
    bio: `bio-${mark}`,
    gender: `f-${mark}`,
    seeking_gender: ['m'],
  }
  const ann = await newUser(profile, place)
  const other = await newUser({ display_name: 'Bob', birth_date: '1990-05-01' }, { lat: -40, lon: 100 })
  const swipe = { target_user_id: other.id, direction: 'RIGHT' }
  expect((await ann.ask('POST', 'swipe', swipe, { 'idempotency-key': randomUUID() })).status).toBe(200)
  const texts = [mark, `|${units.lat}|${units.lon}|`].map((text) => Buffer.from(text))
  const needles = [...texts, avroDouble(place.lat), avroDouble(place.lon)]
  const held = new Set<string>()
  // Collects the names over time, because a topic with a short retention may lose the user's data before the data has
  // arrived everywhere.
  await waitUntil(
    async () => {
      for (const store of holding(needles)) held.add(store)
      return [...TOPICS.keys(), 'redis', 'state'].every((store) => held.has(store))
    },
    { what: 'the data of the user in every place', ...SOON },
  ).catch((error: unknown) => {
    throw new Error(`the data of the user is only in ${[...held].join(', ')}`, { cause: error })
  })
  expect((await ann.ask('DELETE', 'me')).status).toBe(204)

  let found: string[] = []
  let round = 0
  await waitUntil(
    async () => {
      // Records of another user make the broker close segments, so that the test does not have to wait for the ticks
      // of the topologies.
      round++
      await other.ask('PATCH', 'me', { min_age_pref: 18 + (round % 50) })
      await other.ask('POST', 'location', { lat: -40, lon: 100 })
      found = holding(needles)
      return found.length === 0
    },
    { what: 'the erasure', ...GONE },
  ).catch((error: unknown) => {
    throw new Error(`the data of the user is still in ${found.join(', ')}`, { cause: error })
  })
  const rows = `SELECT count() AS swipes FROM match_swipes WHERE swiper_id = '${ann.id}'`
  await expect.poll(() => system.rowsOf(rows), { timeout: SOON.timeoutMs }).toEqual([{ swipes: expect.toBeOneOf([0, '0']) }])
  expect(JSON.stringify([system.apis[0].lines, system.worker.lines])).not.toContain(mark)
})
