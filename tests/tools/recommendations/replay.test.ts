import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { featuresOf } from '../../../api/recommendations/rank/rank.ts'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { itemSignals } from '../../../pipelines/recommendations/signals/topology.ts'
import { userFeaturesTopology } from '../../../pipelines/recommendations/users/topology.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import {
  interactions,
  itemEvents,
  itemNeighbours,
  itemStats,
  items,
  recommendationsServed,
  trendingItems,
  userFeatures,
} from '../../../schemas/recommendations/topics.ts'
import type { EditorialList, Interaction, RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { historyBuilder } from '../../../tools/recommendations/history/history.ts'
import type { ShownList } from '../../../tools/recommendations/history/shown.ts'
import { type Catalogue, replay } from '../../../tools/recommendations/replay/replay.ts'
import { replayWorld } from '../../../tools/recommendations/replay/world.ts'
import { START } from '../../api/kit/harness.ts'
import { recommendationsApi } from '../../api/recommendations/harness.ts'
import { interaction, served } from '../../pipelines/recommendations/events.ts'

const MINUTE = 60_000
const ITEMS = 60
const USERS = 5
/** A list is shown after every fourth interaction. */
const SHOWN_EVERY = 4
const TYPES = ['VIEW', 'VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP'] as const
const NO_CATALOGUE: Catalogue = { items: new Map(), users: new Map(), preferences: new Map(), editorial: new Map() }

function itemOf(id: bigint): RecommendationItem {
  const attributes = { genres: `Genre ${id % 7n}` }
  const times = { created_at: START - 90 * 24 * 60 * MINUTE, updated_at: START }
  return {
    title: `Item ${id}`,
    description: '',
    category_path: '',
    attributes,
    popularity: 0,
    thumbnail_url: null,
    status: 'ACTIVE',
    ...times,
  }
}

function listOf(item_ids: readonly bigint[], updated_at: number): EditorialList {
  const always = { contexts: [], starts_at: null, ends_at: null }
  return { kind: 'LIST', item_ids: [...item_ids], factor: null, max_age_days: null, updated_at, ...always }
}

function randomEvents(seed: number, count: number) {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, index) => {
    const event_type = pick(random, TYPES)
    const rating = event_type === 'RATE' ? 1 + integer(random, 5) : null
    const timestamp = START + Math.floor(index / 3) * MINUTE
    const userId = BigInt(1 + integer(random, USERS))
    return {
      userId,
      event: interaction({ event_id: String(index), item_id: BigInt(100 + integer(random, ITEMS)), event_type, rating, timestamp }),
    }
  })
}

test('a list in the replay has the same items, scores and ranking features as in the service', async () => {
  const api = await recommendationsApi()
  const world = replayWorld()
  const users = testDriver(userFeaturesTopology, { startAt: START, commit: 'manual' })
  const signals = testDriver(itemSignals, { startAt: START, commit: 'manual' })
  for (let id = 100n; id < 100n + BigInt(ITEMS); id++) {
    api.putItem(id, itemOf(id))
    world.putItem(id, itemOf(id))
    signals.pipe(items, id, itemOf(id))
  }
  const picks = listOf([103n, 131n, 144n], START)
  api.putEditorial('picks', picks)
  world.putEditorial('picks', picks)
  // The last events refer to an unknown item.
  const events = randomEvents(3, 200).map(({ userId, event }, index) => ({
    userId,
    event: index < 195 ? event : { ...event, item_id: 999n },
  }))
  const shown = new Map<Interaction, ShownList>()
  for (const [index, { userId, event }] of events.entries()) {
    users.pipe(interactions, userId, event, { appendedAt: event.timestamp })
    if (index % SHOWN_EVERY === 0) {
      const at = event.timestamp
      const itemIds = [index, index + 1, index + 2].map((number) => BigInt(100 + (number % ITEMS)))
      users.pipe(recommendationsServed, userId, served(itemIds, at), { appendedAt: at })
      shown.set(event, { userId, at, itemIds: BigInt64Array.from(itemIds) })
    }
    users.settle()
    for (const { key, value } of users.read(itemEvents)) signals.pipe(itemEvents, key, value)
    signals.settle()
    world.apply(userId, event)
    const list = shown.get(event)
    if (list !== undefined) world.show(list)
    // When a list is requested, the replay folds all pending changes, as the pipelines do at a commit.
    world.ask(userId, event.timestamp, undefined)
  }
  signals.advanceWallClock(events.at(-1)!.event.timestamp - START + MINUTE)
  signals.settle()
  for (const { key, value } of users.read(userFeatures)) api.putUser(key!, value!)
  for (const { key, value } of signals.read(itemNeighbours)) api.putNeighbours(key!, unpackNeighbours(value!.neighbours))
  for (const { key, value } of signals.read(itemStats)) api.feed(itemStats, key, value)
  for (const { key, value } of signals.read(trendingItems)) api.feed(trendingItems, key, value)
  api.state.now = events.at(-1)!.event.timestamp + MINUTE

  for (let user = 1; user <= USERS; user++) {
    const path = `/api/v1/recommendations?user_id=${user}&limit=50&explain=true`
    const { body } = await api.send('GET', path, { user: 'service', scope: 'internal' })
    const { list } = world.ask(BigInt(user), api.state.now, undefined)
    expect(list.length).toBeGreaterThan(20)
    expect(body.recommendations.map(({ item_id }: { item_id: string }) => item_id)).toEqual(
      list.map(({ candidate }) => String(candidate.itemId)),
    )
    for (const [place, { score, ...one }] of list.entries()) {
      expect(body.recommendations[place].score).toBeCloseTo(score, 6)
      const served = Object.values(body.recommendations[place].explain.features)
      expect(served).toEqual(Array.from(featuresOf(one), (value) => expect.closeTo(value, 6)))
    }
  }
})

test("in the replay, an editor's list counts only from the time of its last change", () => {
  const world = replayWorld()
  for (let id = 100n; id < 100n + BigInt(ITEMS); id++) world.putItem(id, itemOf(id))
  world.putEditorial('picks', listOf([103n], START))
  const placedAt = (time: number) => {
    const { candidates } = world.ask(1n, time, undefined)
    return candidates.filter(({ candidate }) => candidate.isEditorial).map(({ candidate }) => candidate.itemId)
  }
  expect([placedAt(START - 1), placedAt(START)]).toEqual([[], [103n]])
})

test('a test case contains what the user chose within half an hour, and nothing after the end of the replay', async () => {
  const builder = historyBuilder()
  const view = (item: number, minute: number, more = {}) =>
    builder.add(1n, interaction({ item_id: BigInt(item), timestamp: START + minute * MINUTE, ...more }))
  view(1, 0)
  view(2, 10, { event_type: 'SKIP' })
  view(3, 20, { watch_pct: 0.2 })
  view(4, 30)
  view(5, 31)
  view(1, 40)
  const asked: { index: number; chosen: bigint[] }[] = []
  const history = builder.build()
  const past = { history, catalogue: NO_CATALOGUE, shown: [], from: 0, questions: 100 }
  await replay({ ...past, to: 6 }, ({ index, chosen }) => void asked.push({ index, chosen: [...chosen] }))
  // The last view is not a test case, because by then lists leave out its item anyway.
  expect(asked).toEqual([
    { index: 0, chosen: [1n, 4n] },
    { index: 3, chosen: [4n, 5n, 1n] },
    { index: 4, chosen: [5n, 1n] },
  ])
  const early: bigint[][] = []
  await replay({ ...past, to: 4 }, ({ chosen }) => void early.push([...chosen]))
  expect(early).toEqual([[1n, 4n], [4n]])
})

test('a test case counts lists that were shown earlier, but not lists from the last half hour, from which the user may have chosen', async () => {
  const builder = historyBuilder()
  builder.add(1n, interaction({ item_id: 1n, timestamp: START }))
  builder.add(1n, interaction({ item_id: 2n, timestamp: START + 60 * MINUTE }))
  const items = new Map([2n, 3n, 4n].map((id) => [id, itemOf(id)]))
  const list = (minute: number, ...ids: bigint[]) => ({ userId: 1n, at: START + minute * MINUTE, itemIds: BigInt64Array.from(ids) })
  const shown = [list(-1, 3n), list(1, 3n), list(2, 3n, 4n), list(31, 4n), list(61, 4n)]
  const seen: Record<string, number>[] = []
  const past = { history: builder.build(), catalogue: { ...NO_CATALOGUE, items }, shown, from: 1, to: 2, questions: 1 }
  await replay(past, ({ ask }) => {
    const timesShown = RANKING_FEATURES.indexOf('times_shown_log')
    const { candidates } = ask(undefined)
    const logs = candidates.map(({ candidate, ...one }) => [String(candidate.itemId), featuresOf(one)[timesShown]] as const)
    seen.push(Object.fromEntries(logs.map(([id, log]) => [id, Math.round(Math.expm1(log))])))
  })
  expect(seen).toEqual([{ 2: 0, 3: 2, 4: 1 }])
})

test('a user with one event does not keep the memory of an active user from being freed', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const world = replayWorld()
  const view = { event_type: 'VIEW', rating: null, watch_pct: 1, dwell_time_sec: null, withdrawn: false, rec_request_id: null } as const
  for (let id = 1n; id <= 40n; id++) world.putItem(id, itemOf(id))
  collect()
  const before = process.memoryUsage().arrayBuffers
  let time = START
  for (let user = 1n; user <= 300n; user++) {
    for (let event = 0; event < 100; event++) world.apply(0n, { ...view, item_id: BigInt(1 + (event % 40)), timestamp: ++time })
    world.apply(user, { ...view, item_id: 1n + (user % 40n), timestamp: ++time })
  }
  const grown = () => {
    collect()
    return process.memoryUsage().arrayBuffers - before
  }
  // The rows of 301 users and 40 items take far less than a megabyte. If they kept their shared blocks in memory, they
  // would take twenty.
  await expect.poll(grown).toBeLessThan(4 * 1024 * 1024)
  expect(world.hasWatched(1n, 2n, time)).toBe(true)
})
