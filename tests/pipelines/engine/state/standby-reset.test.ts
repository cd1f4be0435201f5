import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { type Fetcher, type GroupPeer, type PartitionData, partitionKey } from '../../../../kafka/transport.ts'
import { type Standbys, standbys } from '../../../../pipelines/engine/state/standby.ts'
import { CHANGELOG_DELETE_RETENTION_MS } from '../../../../pipelines/engine/topology/internal-topics.ts'
import type { SubTopology } from '../../../../pipelines/engine/topology/sub-topology.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { until } from '../harness.ts'

/** In most of these tests, a standby copy cannot continue, because its log has lost records or may lack tombstones. */

const CHANGELOG = { store: 'totals', topic: 'log', partition: 0, positionName: 'log', identityName: 'id', epochName: 'epoch' }
const KEY = partitionKey(CHANGELOG.topic, CHANGELOG.partition)
const SOURCE = 'lines'
const PLACE = {
  id: '0_0',
  part: {} as SubTopology,
  partition: 0,
  sources: [{ topic: SOURCE, partition: 0 }],
  changelogs: [CHANGELOG],
  unloggedStores: [],
}

/** Returns the fetched data of a changelog whose records have these keys. */
function dataOf(keys: readonly string[], more: Partial<PartitionData> = {}): PartitionData {
  const broker = memoryBroker()
  broker.createTopic({ name: CHANGELOG.topic, partitions: 1 })
  for (const key of keys) broker.append(CHANGELOG.topic, 0, { timestamp: 0, key: Buffer.from(key), value: Buffer.from('1'), headers: [] })
  return { ...broker.fetch(CHANGELOG.topic, 0, 0, keys.length), ...more }
}

/**
 * Runs a copy until it has taken the results of all its fetches. Returns the copy, and the keys of its rows.
 * @param polls the results of the fetches
 */
async function copying(polls: PartitionData[]) {
  const session = memoryBackend().session('words')
  const peer = (memberId: string): GroupPeer => ({ memberId, address: undefined, topics: [SOURCE], partitions: [], notice: undefined })
  let isFollowing = false
  const fetcher = {
    assign: () => {
      isFollowing = true
    },
    unassign() {},
    async poll() {
      const next = polls.shift()
      return next === undefined ? [] : [next]
    },
    async close() {},
  } as unknown as Fetcher
  const copies: Standbys = standbys({
    topology: 'words',
    copies: 1,
    places: [PLACE],
    partitionsOf: () => 1,
    transport: {
      offsets: async (_partitions, at) => new Map([[KEY, at === 'end' ? 2 : 0]]),
      topicIds: async () => new Map(),
      epochEnds: async () => new Map(),
      fetcher: () => fetcher,
    },
    session,
    group: { members: async () => [peer('owner'), peer('standby')] },
    sources: new Set([SOURCE]),
    warmUps: false,
    announce() {},
    epoch: () => 1,
    memberId: () => 'standby',
    runsHere: () => false,
    isBusy: () => false,
    isRestoring: () => false,
    exactlyOnce: true,
    runtime: systemRuntime(),
  })
  await until(async () => {
    await copies.maintain()
    return isFollowing && polls.length === 0
  }, 'everything is copied')
  return { copy: copies.copy(PLACE.id), rows: [...session.column('totals', 0).scan({})].map(([key]) => String(key)) }
}

test('a copy of a log that was reset starts over even if the log ends at the same offset as before', async () => {
  const { copy, rows } = await copying([dataOf(['a', 'b']), dataOf(['c', 'd'], { wasReset: true })])
  expect(rows).toEqual(['c', 'd'])
  expect(copy).toMatchObject({ behind: 0, completeAt: expect.any(Number) })
})

test('a copy that starts over is not complete before it has read the log again', async () => {
  const { copy, rows } = await copying([dataOf(['a', 'b']), dataOf(['c'], { wasReset: true, lastStableOffset: 2 })])
  expect(rows).toEqual(['c'])
  expect(copy).toMatchObject({ behind: 1, completeAt: undefined })
})

test('a copy ends if its log was not read for so long that tombstones may be missing', async () => {
  const fetchedAt = Date.now()
  const later = { fetchedAt: fetchedAt + CHANGELOG_DELETE_RETENTION_MS + 1 }
  const { copy, rows } = await copying([dataOf(['a', 'b'], { fetchedAt }), dataOf(['c', 'd', 'e'], later)])
  expect(copy).toBeUndefined()
  expect(rows).toEqual(['a', 'b'])
})

test('a late answer for a copy that has ended does not affect the new copy of the same task', async () => {
  const runtime = manualRuntime()
  const peer = (memberId: string): GroupPeer => ({ memberId, address: undefined, topics: [SOURCE], partitions: [], notice: undefined })
  const requests: PromiseWithResolvers<Map<string, string>>[] = []
  const fetcher = { assign() {}, unassign() {}, poll: async () => [], async close() {} } as unknown as Fetcher
  let peers = [peer('owner'), peer('standby')]
  const copies: Standbys = standbys({
    topology: 'words',
    copies: 1,
    places: [PLACE],
    partitionsOf: () => 1,
    transport: {
      offsets: async (_partitions, at) => new Map([[KEY, at === 'end' ? 2 : 0]]),
      topicIds() {
        requests.push(Promise.withResolvers())
        return requests.at(-1)!.promise
      },
      epochEnds: async () => new Map(),
      fetcher: () => fetcher,
    },
    session: memoryBackend().session('words'),
    group: { members: async () => peers },
    sources: new Set([SOURCE]),
    warmUps: false,
    announce() {},
    epoch: () => 1,
    memberId: () => 'standby',
    runsHere: () => false,
    isBusy: () => false,
    isRestoring: () => false,
    exactlyOnce: true,
    runtime,
  })
  async function pass(): Promise<void> {
    runtime.advance(2_000)
    for (let turn = 0; turn < 3; turn++) {
      await copies.maintain()
      await nextTurn()
    }
  }
  await pass()
  peers = [peer('standby')]
  await pass()
  expect(copies.all()).toEqual([])
  peers = [peer('owner'), peer('standby')]
  await pass()
  expect(requests).toHaveLength(2)
  requests[1].resolve(new Map())
  await pass()
  expect(copies.copy(PLACE.id)?.behind).toBe(2)
  requests[0].reject(new Error('the first request fails late'))
  await pass()
  expect(copies.copy(PLACE.id)?.behind).toBe(2)
  expect(requests).toHaveLength(2)
})
