import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { itemSignals } from '../../../pipelines/recommendations/signals/topology.ts'
import { userFeaturesTopology } from '../../../pipelines/recommendations/users/topology.ts'
import { unpackHistory } from '../../../schemas/recommendations/events/packed-history.ts'
import { unpackIds } from '../../../schemas/recommendations/events/packed-items.ts'
import { unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import {
  interactions,
  itemEvents,
  itemNeighbours,
  itemStats,
  trendingItems,
  userFeatures,
} from '../../../schemas/recommendations/topics.ts'
import type { UserSelf } from '../../../schemas/recommendations/types.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { interactionOf } from './events.ts'
import { type ModelEvent, modelNeighbours, modelStats, modelTrending, modelUser } from './offline-model.ts'

const START = Date.UTC(2026, 0, 10)
const MINUTE = 60_000
const TYPES = ['VIEW', 'VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL'] as const

/** Generates events of a few users and items over two days, not always in chronological order. */
function randomEvents(seed: number, count: number): ModelEvent[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, index) => {
    const type = pick(random, TYPES)
    return {
      user: BigInt(1 + integer(random, 5)),
      item: BigInt(100 + integer(random, 40)),
      type,
      at: START + index * 4 * MINUTE - integer(random, 20) * MINUTE + integer(random, 60) * 1_000,
      ...(type === 'RATE' && { rating: 1 + integer(random, 5) }),
    }
  })
}

/** Runs both topologies, each in commits of several events. */
function run(events: readonly ModelEvent[], perCommit: number) {
  const users = testDriver(userFeaturesTopology, { startAt: START, commit: 'manual' })
  const signals = testDriver(itemSignals, { startAt: START, commit: 'manual' })
  const selves = new Map<string, UserSelf>()
  const neighbours = new Map<bigint, readonly { itemId: bigint; weight: number }[]>()
  const stats = new Map<bigint, unknown>()

  function settle() {
    users.settle()
    for (const { key, value } of users.read(itemEvents)) signals.pipe(itemEvents, key, value)
    signals.settle()
    for (const { key, value } of users.read(userFeatures)) if (value?.self) selves.set(key!.split(':')[0], value.self)
    for (const { key, value } of signals.read(itemNeighbours)) neighbours.set(key!, unpackNeighbours(value!.neighbours))
    for (const { key, value } of signals.read(itemStats)) stats.set(key!, value)
  }
  events.forEach((event, index) => {
    users.pipe(interactions, event.user, interactionOf(event, String(index)), { timestamp: event.at })
    if (index % perCommit === perCommit - 1) settle()
  })
  settle()
  return { signals, selves, neighbours, stats }
}

test.each([
  [1, 1],
  [2, 7],
  [3, 60],
])('features and signals equal those of an offline model (seed %i, %i events per commit)', (seed, perCommit) => {
  const events = randomEvents(seed, 300)
  const { signals, selves } = run(events, perCommit)

  for (const [user, self] of selves) {
    const model = modelUser(events.filter((event) => event.user === BigInt(user)))
    expect(unpackIds(self.viewed)).toEqual(model.viewed)
    expect(unpackIds(self.session)).toEqual(model.session)
    expect(unpackHistory(self.history).map(({ itemId, type }) => ({ item: itemId, type }))).toEqual(model.history)
    expect(self).toMatchObject({ interactions: model.interactions, last_event_at: model.lastEventAt })
  }
  expect(selves.size).toBe(5)

  const kept = signals.store<never>('neighbours') as { get(key: bigint): { reference_at: number; neighbours: Uint8Array } | undefined }
  const counts = signals.store<never>('signals') as { get(key: bigint): { at: number } | undefined }
  for (const item of new Set(events.map(({ item }) => item))) {
    const row = kept.get(item)
    const model = modelNeighbours(events, row?.reference_at ?? START).get(item) ?? new Map()
    const found = new Map(storedNeighbours(row?.neighbours ?? new Uint8Array()))
    expect([...found.keys()].sort()).toEqual([...model.keys()].sort())
    for (const [other, weight] of model) expect(found.get(other)! / weight).toBeCloseTo(1, 9)

    const count = counts.get(item)!
    for (const [name, value] of Object.entries(modelStats(events, item, count.at))) {
      expect([name, (count as unknown as Record<string, number>)[name]]).toEqual([name, expect.closeTo(value, 9)])
    }
  }
})

/** Reads the bytes of the store in their documented format. */
function storedNeighbours(packed: Uint8Array): [bigint, number][] {
  const bytes = Buffer.from(packed)
  return Array.from({ length: bytes.length / 20 }, (_, index) => [bytes.readBigInt64LE(index * 20), bytes.readDoubleLE(index * 20 + 8)])
}

test('what is published is at most a twentieth behind what is known', () => {
  const events = randomEvents(4, 400)
  const { neighbours, stats } = run(events, 5)
  const end = Math.max(...events.map(({ at }) => at))

  for (const [item, model] of modelNeighbours(events, end)) {
    const total = [...model.values()].reduce((sum, weight) => sum + weight, 0)
    const [[best]] = [...model].sort(([, a], [, b]) => b - a)
    expect(neighbours.get(item)!.some(({ itemId }) => itemId === best)).toBe(true)
    expect(neighbours.get(item)!.reduce((sum, { weight }) => sum + weight, 0)).toBeGreaterThan(0.9 * total)
  }
  for (const [item, found] of stats) {
    expect((found as { interactions: number }).interactions).toBeGreaterThanOrEqual(modelStats(events, item, end).interactions * 0.97)
  }
})

test('trending items are ranked by what happened lately, and published every 30 seconds', () => {
  const events = randomEvents(5, 120)
  const { signals } = run(events, 10)
  signals.advanceWallClock(40_000)
  signals.settle()
  const { key, value } = signals.read(trendingItems).at(-1)!
  expect(key).toBe('all')
  expect(value!.item_ids).toEqual(modelTrending(events, START))
  // Nothing has changed, so nothing is published.
  signals.advanceWallClock(60_000)
  signals.settle()
  expect(signals.read(trendingItems)).toEqual([])
})
