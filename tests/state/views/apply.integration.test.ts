import keySlot from 'cluster-key-slot'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { TargetUnavailableError } from '../../../state/unavailable.ts'
import { positionsKey, type ViewBatch, viewStore } from '../../../state/views/apply.ts'
import { connectSinkRedis } from '../../../state/views/connect.ts'
import { caughtUpKey, type ViewOperation, viewTag } from '../../../state/views/view.ts'
import { AT_FIRST_TRY, privateRedis, testStack, uniqueName } from '../../stack/index.ts'
import { privateRedisCluster, startMovingSlot } from './redis-cluster.ts'

const NOW = 1_700_000_000_000
/** Number of hash slots of a Redis Cluster. */
const SLOTS = 16_384
const silent = pino({ level: 'silent' })

async function open() {
  const redis = new Redis(await testStack().redis())
  onTestFinished(() => redis.disconnect())
  const view = uniqueName('view')
  const tag = viewTag(view, 3)
  return { redis, view, tag, store: viewStore(redis), batch: batchOf(view) }
}

function batchOf(view: string) {
  return (
    expected: number | undefined,
    next: number,
    operations: readonly ViewOperation[] = [],
    rest: Partial<ViewBatch> = {},
  ): ViewBatch => ({
    view,
    partition: 3,
    topic: 'one',
    viewTopics: ['one'],
    expected,
    next,
    operations,
    caughtUp: false,
    now: NOW,
    ...rest,
  })
}

test('operations are applied in order, together with the offset after them', async () => {
  const { redis, view, tag, store, batch } = await open()
  const listener = new Redis(await testStack().redis())
  onTestFinished(() => listener.disconnect())
  const heard = new Promise((resolve) => listener.once('message', (channel, message) => resolve([channel, message])))
  await listener.subscribe(view)
  const operations: ViewOperation[] = [
    { op: 'set', key: `${tag}:a`, value: 'first' },
    { op: 'set', key: `${tag}:a`, value: 'lä\n"st' },
    { op: 'set', key: `${tag}:b`, value: 'gone' },
    { op: 'del', key: `${tag}:b` },
    { op: 'hset', key: `${tag}:h`, fields: { x: '1', y: '' } },
    { op: 'hset', key: `${tag}:h`, fields: {} },
    { op: 'expire', key: `${tag}:h`, seconds: 100 },
    { op: 'hset', key: `${tag}:h`, fields: { z: 'gone' } },
    { op: 'hdel', key: `${tag}:h`, field: 'z' },
    { op: 'hset', key: `${tag}:h`, fields: { older: '9 b x', same: '10 b x', newer: '10 c x', text: 'x' } },
    ...['older', 'same', 'newer', 'text', 'none'].map(
      (field): ViewOperation => ({ op: 'hdelUpTo', key: `${tag}:h`, field, upTo: { number: 10, text: 'b' } }),
    ),
    { op: 'zadd', key: `${tag}:z`, score: 2, member: 'two' },
    { op: 'zadd', key: `${tag}:z`, score: 9, member: 'gone' },
    { op: 'zadd', key: `${tag}:z`, score: 1_700_000_000_000.5, member: 'one' },
    { op: 'zrem', key: `${tag}:z`, member: 'gone' },
    ...[1, 5, 3, 4].map((score): ViewOperation => ({ op: 'zadd', key: `${tag}:newest`, score, member: `m${score}`, newest: 3 })),
    // A member with a lower score than all others is not kept.
    { op: 'zadd', key: `${tag}:newest`, score: 2, member: 'm2', newest: 3 },
    { op: 'publish', channel: view, message: 'hello' },
  ]
  expect(await store.apply(batch(undefined, 8, operations))).toEqual({ applied: true })
  expect(await redis.get(`${tag}:a`)).toBe('lä\n"st')
  expect(await redis.exists(`${tag}:b`)).toBe(0)
  expect(await redis.hgetall(`${tag}:h`)).toEqual({ x: '1', y: '', newer: '10 c x', text: 'x' })
  expect(await redis.ttl(`${tag}:h`)).toBeGreaterThan(90)
  expect(await redis.zrange(`${tag}:z`, '0', '-1', 'WITHSCORES')).toEqual(['two', '2', 'one', '1700000000000.5'])
  expect(await redis.zrange(`${tag}:newest`, '0', '-1')).toEqual(['m3', 'm4', 'm5'])
  expect(await heard).toEqual([view, 'hello'])
  expect(await store.position(view, 3, 'one')).toEqual({ next: 8, at: NOW })
})

test('the time of a position changes only with a batch that names the time at which the view was complete', async () => {
  const { view, store, batch } = await open()
  await store.apply(batch(undefined, 1, [], { now: NOW }))
  await store.apply(batch(1, 2, [], { now: NOW + 1 }))
  expect(await store.position(view, 3, 'one')).toEqual({ next: 2, at: NOW })
  await store.apply(batch(2, 2, [], { now: NOW + 2, caughtUp: true }))
  expect(await store.position(view, 3, 'one')).toEqual({ next: 2, at: NOW })
  await store.apply(batch(2, 3, [], { now: NOW + 9, caughtUp: true, completeAt: NOW + 2 }))
  expect(await store.position(view, 3, 'one')).toEqual({ next: 3, at: NOW + 2 })
})

test('the id of the topic is stored with the position, and stays if a batch names no id', async () => {
  const { view, store, batch } = await open()
  await store.apply(batch(undefined, 1, [], { topicId: 'first' }))
  await store.apply(batch(1, 2))
  expect(await store.position(view, 3, 'one')).toEqual({ next: 2, at: NOW, topicId: 'first' })
})

test('only a higher version replaces a value', async () => {
  const { redis, tag, store, batch } = await open()
  const versioned = (version: number): ViewOperation => ({ op: 'setIfNewer', key: `${tag}:v`, version, value: `v${version}` })
  await store.apply(batch(undefined, 1, [versioned(3_400_000_000_001)]))
  await store.apply(batch(1, 2, [{ ...versioned(3_400_000_000_001), value: 'again' } as ViewOperation, versioned(5)]))
  expect(await redis.hgetall(`${tag}:v`)).toEqual({ version: '3400000000001', value: 'v3400000000001' })
  await store.apply(batch(2, 3, [versioned(3_400_000_000_002)]))
  expect(await redis.hget(`${tag}:v`, 'value')).toBe('v3400000000002')
})

test("a batch that does not begin at the view's position changes nothing and returns that position", async () => {
  const { redis, tag, store, batch } = await open()
  const set: ViewOperation[] = [{ op: 'set', key: `${tag}:a`, value: 'x' }]
  expect(await store.apply(batch(5, 6, set))).toEqual({ applied: false, position: undefined })
  await store.apply(batch(undefined, 4))
  expect(await store.apply(batch(5, 6, set))).toEqual({ applied: false, position: 4 })
  expect(await store.apply(batch(undefined, 6, set))).toEqual({ applied: false, position: 4 })
  expect(await store.apply(batch(3, 6, set))).toEqual({ applied: false, position: 4 })
  expect(await redis.exists(`${tag}:a`)).toBe(0)
})

test('a view has caught up when it has read all its topics, until it falls back to an older state', async () => {
  const { redis, view, store, batch } = await open()
  const viewTopics = ['one', 'two']
  const flag = () => redis.exists(caughtUpKey(view, 3))
  await store.apply(batch(undefined, 5, [], { viewTopics, caughtUp: true }))
  expect(await flag()).toBe(0)
  await store.apply(batch(undefined, 0, [], { viewTopics, topic: 'two', caughtUp: true }))
  expect(await flag()).toBe(1)

  // Another sink has already applied this batch and later ones, so the view is still complete.
  expect(await store.apply(batch(3, 4, [], { viewTopics }))).toEqual({ applied: false, position: 5 })
  expect(await flag()).toBe(1)

  // Simulates a failover to a replica without the last second of writes.
  await redis.hset(positionsKey(view, 3), 'one', '4')
  expect(await store.apply(batch(5, 6, [], { viewTopics }))).toEqual({ applied: false, position: 4 })
  expect(await flag()).toBe(0)
  await store.apply(batch(4, 6, [], { viewTopics, caughtUp: true }))
  expect(await flag()).toBe(1)
})

test('clearing removes all keys of one partition except the key of its positions, and no keys of other partitions', async () => {
  const { redis, view, tag, store, batch } = await open()
  const operations = Array.from({ length: 3_000 }, (_, index): ViewOperation => ({ op: 'set', key: `${tag}:${index}`, value: '' }))
  await store.apply(batch(undefined, 1, operations, { caughtUp: true }))
  const other = `${viewTag(view, 33)}:a`
  await redis.set(other, '')
  await store.clear(view, 3, 'one', (await store.position(view, 3, 'one'))!)
  expect(await redis.keys(`${tag}*`)).toEqual([positionsKey(view, 3)])
  expect(await redis.exists(other)).toBe(1)
  expect(await store.position(view, 3, 'one')).toBeUndefined()
  expect(await store.apply(batch(undefined, 1))).toEqual({ applied: true })
})

test('after an interrupted clearing, nothing is applied until the remaining keys are gone', AT_FIRST_TRY, async () => {
  const { redis, view, tag, store, batch } = await open()
  const set = (key: string): ViewOperation[] => [{ op: 'set', key: `${tag}:${key}`, value: '' }]
  await store.apply(batch(undefined, 1, set('deleted'), { caughtUp: true }))
  const dying = new Redis(await testStack().redis())
  onTestFinished(() => dying.disconnect())
  dying.scan = (() => Promise.reject(new Error('Connection is closed.'))) as never
  const read = (await store.position(view, 3, 'one'))!
  await expect(viewStore(dying).clear(view, 3, 'one', read)).rejects.toThrow(TargetUnavailableError)
  expect(await redis.exists(caughtUpKey(view, 3))).toBe(0)
  expect(await store.position(view, 3, 'one')).toBeUndefined()
  expect(await store.apply(batch(undefined, 1, set('new')))).toEqual({ applied: false, position: undefined })
  await store.finishClearing(view, 3)
  expect(await store.apply(batch(undefined, 1, set('new'), { caughtUp: true }))).toEqual({ applied: true })
  expect(await redis.exists(`${tag}:deleted`)).toBe(0)
  await store.finishClearing(view, 3)
  expect(await redis.exists(`${tag}:new`)).toBe(1)
})

test('keys in a view without any position have an unknown age, so they are removed before the view is filled', async () => {
  const { redis, view, tag, store } = await open()
  await redis.set(`${tag}:old`, '')
  await store.finishClearing(view, 3)
  expect(await redis.exists(`${tag}:old`)).toBe(0)
})

test('a process that clears a view late removes nothing that was applied in the meantime', AT_FIRST_TRY, async () => {
  const { redis, view, tag, store, batch } = await open()
  await store.apply(batch(undefined, 1, [{ op: 'set', key: `${tag}:old`, value: '' }]))
  const late = new Redis(await testStack().redis())
  onTestFinished(() => late.disconnect())
  const scan = late.scan.bind(late)
  late.scan = (async () => {
    await store.finishClearing(view, 3)
    await store.apply(batch(undefined, 1, [{ op: 'set', key: `${tag}:new`, value: '' }]))
    late.scan = scan
    return await scan('0', 'MATCH', `${tag.replace('{', '\\{')}:*`, 'COUNT', 100_000)
  }) as never
  await viewStore(late).clear(view, 3, 'one', (await store.position(view, 3, 'one'))!)
  expect(await redis.exists(`${tag}:new`)).toBe(1)
  expect(await redis.exists(`${tag}:old`)).toBe(0)
})

test('a clearing that begins late does not empty a view that another process has filled in the meantime', AT_FIRST_TRY, async () => {
  const { redis, view, tag, store, batch } = await open()
  const set = (key: string): ViewOperation[] => [{ op: 'set', key: `${tag}:${key}`, value: '' }]
  await store.apply(batch(undefined, 1, set('old')))
  const read = (await store.position(view, 3, 'one'))!
  await store.clear(view, 3, 'one', read)
  await store.apply(batch(undefined, 1, set('new'), { caughtUp: true, now: NOW + 1 }))
  await store.clear(view, 3, 'one', read)
  expect(await redis.exists(`${tag}:new`)).toBe(1)

  // Simulates another late process. It has read that there are no positions.
  const late = new Redis(await testStack().redis())
  onTestFinished(() => late.disconnect())
  const exists = late.exists.bind(late)
  late.exists = ((key: string) => {
    late.exists = exists
    return Promise.resolve(key === positionsKey(view, 3) ? 0 : 1)
  }) as never
  await viewStore(late).finishClearing(view, 3)
  expect([await redis.exists(`${tag}:new`), await redis.exists(caughtUpKey(view, 3))]).toEqual([1, 1])
})

test('a key without the tag of its partition is refused, because it may be on another shard', async () => {
  const { store, batch } = await open()
  await expect(store.apply(batch(undefined, 1, [{ op: 'del', key: 'elsewhere' }]))).rejects.toThrow('does not begin with')
})

test('an error reply that no retry can resolve is thrown unchanged', async () => {
  const { redis, tag, store, batch } = await open()
  await redis.lpush(`${tag}:list`, 'x')
  const attempt = store.apply(batch(undefined, 1, [{ op: 'hset', key: `${tag}:list`, fields: { a: 'b' } }]))
  await expect(attempt).rejects.toThrow('WRONGTYPE')
  await expect(attempt).rejects.not.toThrow(TargetUnavailableError)
})

test('if Redis does not respond, writes fail, and succeed again when it is back', async () => {
  const server = await privateRedis()
  const redis = connectSinkRedis({ url: server.address, cluster: false }, silent)
  onTestFinished(() => redis.disconnect())
  const store = viewStore(redis)
  const view = uniqueName('view')
  await expect.poll(() => store.apply(batchOf(view)(undefined, 1)).catch(() => undefined)).toEqual({ applied: true })
  await server.stop()
  await expect(store.apply(batchOf(view)(1, 2))).rejects.toThrow(TargetUnavailableError)
  await server.start()
  await expect.poll(() => store.apply(batchOf(view)(1, 2)).catch(() => undefined)).toEqual({ applied: true })
})

test('in a cluster, several partitions of a view can be written, and one of them can be cleared', async () => {
  const redis = connectSinkRedis({ url: await privateRedisCluster(), cluster: true }, silent)
  onTestFinished(() => redis.disconnect())
  const store = viewStore(redis)
  const view = uniqueName('view')
  for (let partition = 0; partition < 8; partition++) {
    const key = `${viewTag(view, partition)}:a`
    const batch = { ...batchOf(view)(undefined, 1, [{ op: 'set', key, value: String(partition) }], { caughtUp: true }), partition }
    await expect.poll(() => store.apply(batch).catch((error) => error)).toEqual({ applied: true })
    expect(await redis.get(key)).toBe(String(partition))
    expect(await redis.get(caughtUpKey(view, partition))).toBe(String(NOW))
  }
  await store.clear(view, 5, 'one', (await store.position(view, 5, 'one'))!)
  expect(await redis.get(`${viewTag(view, 5)}:a`)).toBeNull()
  expect(await redis.get(`${viewTag(view, 4)}:a`)).toBe('4')
  expect(await store.position(view, 5, 'one')).toBeUndefined()
})

test('in a cluster, a batch that Redis cannot finish because its slot is moving is applied after the move', async () => {
  const url = await privateRedisCluster()
  const redis = connectSinkRedis({ url, cluster: true }, silent)
  onTestFinished(() => redis.disconnect())
  const store = viewStore(redis)
  const { view, partition } = viewOnFirstMaster()
  const key = `${viewTag(view, partition)}:a`
  const rewriting: ViewOperation[] = [
    { op: 'del', key },
    { op: 'set', key, value: 'new' },
  ]
  const batch = (expected: number | undefined, next: number) => ({
    ...batchOf(view)(expected, next, rewriting, { caughtUp: true }),
    partition,
  })
  await expect.poll(() => store.apply(batch(undefined, 1)).catch((error) => error)).toEqual({ applied: true })

  const finishMove = await startMovingSlot(url, keySlot(key))
  await expect(store.apply(batch(1, 2))).rejects.toThrow(TargetUnavailableError)
  await finishMove()
  await expect.poll(() => store.apply(batch(1, 2)).catch((error) => error)).toEqual({ applied: true })
  expect(await redis.get(key)).toBe('new')
})

/** Returns a view, and one of its partitions whose keys are on the first of two masters. */
function viewOnFirstMaster(): { view: string; partition: number } {
  const view = uniqueName('view')
  const partition = Array.from({ length: 64 }, (_, number) => number).find((number) => keySlot(viewTag(view, number)) < SLOTS / 2)!
  return { view, partition }
}
