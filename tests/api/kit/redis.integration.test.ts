import keySlot from 'cluster-key-slot'
import { Cluster } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { connectViewRedis, type ViewRedis } from '../../../api/kit/redis.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { viewStore } from '../../../state/views/apply.ts'
import { type ViewOperation, type ViewScript, viewTag } from '../../../state/views/view.ts'
import { privateRedisCluster, startMovingSlot } from '../../state/views/redis-cluster.ts'

const NODES = 3
const PARTITIONS = 12
const VIEW = 'people'
/** Number of hash slots of a Redis Cluster. */
const SLOTS = 16_384
const ROUNDS = 5
const READY_TIMEOUT_MS = 30_000
const TEST_TIMEOUT_MS = 120_000
const PAUSED_MS = 3_000
/** Every byte value once, to detect a conversion to text and back. */
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

const ADD: ViewScript = { name: 'add', source: `return redis.call('HINCRBY', KEYS[1], 'sum', ARGV[1])` }
const COUNT: ViewScript = { name: 'count', source: `return redis.call('EXISTS', KEYS[1], KEYS[2])` }
const KEEP: ViewScript = { name: 'keep', source: `redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])` }

function keyOf(partition: number, name: string): string {
  return `${viewTag(VIEW, partition)}:${name}`
}

async function connected(): Promise<{ url: string; redis: ViewRedis; cluster: Cluster }> {
  const url = await privateRedisCluster(NODES)
  const cluster = new Cluster([url])
  onTestFinished(() => cluster.disconnect())
  const log = createLogger('silent')
  const redis = connectViewRedis({ url, cluster: true, log, monotonic: () => performance.now() })
  onTestFinished(() => redis.close())
  await waitUntil(
    async () => {
      const calls = Array.from({ length: PARTITIONS }, (_, partition) => [
        redis.scripts.run(ADD, [keyOf(partition, 'counter')], [0]),
        redis.reader.get(keyOf(partition, 'none')),
      ])
      return await Promise.all(calls.flat()).then(
        () => true,
        () => false,
      )
    },
    { what: 'connections to all nodes', timeoutMs: READY_TIMEOUT_MS },
  )
  return { url, redis, cluster }
}

test(
  'readers support lexical ranges, whole hashes and bytes on every node of a cluster',
  async () => {
    const { redis, cluster } = await connected()
    const store = viewStore(cluster)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const [hash, set, bytes] = ['hash', 'set', 'bytes'].map((name) => keyOf(partition, name))
      const members = ['9q8yy:ann', '9q8yy:bob', '9q8yz:cid', '9q8zz:dan']
      const operations: ViewOperation[] = [
        { op: 'hset', key: hash, fields: { text: 'grüße', bytes: BYTES } },
        { op: 'set', key: bytes, value: BYTES },
        ...members.map((member): ViewOperation => ({ op: 'zadd', key: set, score: 0, member })),
      ]
      const place = { view: VIEW, partition, topic: 'people', viewTopics: ['people'] }
      await store.apply({ ...place, expected: undefined, next: 1, operations, caughtUp: true, now: 1 })

      expect(await redis.reader.zrangebylex(set, '[9q8yy', '(9q8yz', 0, 10)).toEqual(members.slice(0, 2))
      expect(await redis.reader.zrangebylex(set, '(9q8yy:ann', '+', 1, 1)).toEqual(['9q8yz:cid'])
      expect(await redis.reader.zrangebylex(set, '-', '+', 0, 10)).toEqual(members)
      const scored = [...members].reverse().map((member) => ({ member, score: 0 }))
      expect(await redis.reader.zrevrangeWithScores(set, 0, 1)).toEqual(scored.slice(0, 2))
      expect(await redis.reader.zrevrangeWithScores(`${set}:missing`, 0, 1)).toEqual([])
      expect(await redis.reader.zmscore(set, ['none', members[0]])).toEqual([null, 0])
      expect((await redis.reader.hgetall(hash)).text).toBe('grüße')
      expect(await redis.reader.hgetall(keyOf(partition, 'none'))).toEqual({})
      const together = ['hash', 'none', 'hash'].map((name) => redis.shared.hgetall(keyOf(partition, name)))
      expect((await Promise.all(together)).map(({ text }) => text)).toEqual(['grüße', undefined, 'grüße'])
      await expect(redis.shared.hgetall(bytes)).rejects.toThrow()
      const values = [bytes, keyOf(partition, 'none')].map((key) => redis.shared.getBuffer(key))
      expect(await Promise.all(values)).toEqual([BYTES, null])
      expect(await redis.reader.hgetallBuffer(hash)).toEqual({ text: Buffer.from('grüße'), bytes: BYTES })
      expect(await redis.reader.hmgetBuffer(hash, ['bytes', 'none'])).toEqual([BYTES, null])
      expect(await redis.reader.mgetBuffer([keyOf(partition, 'none'), bytes])).toEqual([null, BYTES])
    }
  },
  TEST_TIMEOUT_MS,
)

test(
  'scripts run on every node of a cluster, and while one node does not respond, calls to other nodes succeed within their time limit',
  async () => {
    const { redis, cluster } = await connected()
    const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    const add = (partition: number, timeoutMs?: number) => redis.scripts.run(ADD, [keyOf(partition, 'counter')], [1], { timeoutMs })
    const sums = await Promise.all(partitions.map((partition) => add(partition)))
    expect(sums).toEqual(partitions.map(() => 1))
    expect(await redis.scripts.run(KEEP, [keyOf(0, 'kept')], ['grüße'])).toBe('grüße')
    await expect(redis.scripts.run(ADD, [keyOf(0, 'counter')], ['none'])).rejects.toThrow('value is not an integer')
    await expect(redis.scripts.run(ADD, [keyOf(0, 'a'), keyOf(1, 'a')], [1])).rejects.toThrow('different hash tags')

    const [stopped] = cluster.nodes('master')
    await stopped.client('PAUSE', PAUSED_MS, 'ALL')
    const outcomes = await Promise.allSettled(partitions.map((partition) => add(partition, 50)))
    const failed = partitions.filter((partition) => outcomes[partition].status === 'rejected')
    expect(failed.length).toBeGreaterThan(0)
    expect(failed.length).toBeLessThan(PARTITIONS)
    for (const partition of failed) {
      const { reason } = outcomes[partition] as PromiseRejectedResult
      expect(reason).toBeInstanceOf(ApiError)
      expect((reason as ApiError).definition).toBe(errors.unavailable)
    }
    const alive = partitions.filter((partition) => !failed.includes(partition))
    for (const partition of alive) expect(await add(partition)).toBeGreaterThanOrEqual(2)

    // Scripts succeed again once the paused node responds.
    await waitUntil(
      () =>
        Promise.all(failed.map((partition) => add(partition, 50))).then(
          () => true,
          () => false,
        ),
      { what: 'the node to be back', timeoutMs: READY_TIMEOUT_MS },
    )
  },
  TEST_TIMEOUT_MS,
)

test(
  'while a cluster moves a slot, scripts that need the slot fail, and scripts with keys in another slot of the same node still run',
  async () => {
    const { url, redis } = await connected()
    // The first master has the first third of the slots.
    const here = Array.from({ length: PARTITIONS }, (_, partition) => partition).filter((partition) => {
      return keySlot(viewTag(VIEW, partition)) < Math.floor(SLOTS / NODES)
    })
    const [moving, other] = here
    const finishMove = await startMovingSlot(url, keySlot(viewTag(VIEW, moving)))
    // Redis cannot run a script on the moving slot if only some of the script's keys exist.
    const onMovingSlot = () => redis.scripts.run(COUNT, [keyOf(moving, 'counter'), keyOf(moving, 'none')], [])
    for (let round = 0; round < ROUNDS; round++) {
      const refused = onMovingSlot().catch((error: unknown) => error)
      await new Promise((resolve) => setImmediate(resolve))
      await redis.scripts.run(ADD, [keyOf(other, 'counter')], [1])
      expect(await refused).toBeInstanceOf(ApiError)
      await redis.scripts.run(ADD, [keyOf(other, 'counter')], [1])
    }
    await finishMove()
    await waitUntil(
      () =>
        onMovingSlot().then(
          () => true,
          () => false,
        ),
      { what: 'the moved slot', timeoutMs: READY_TIMEOUT_MS },
    )
  },
  TEST_TIMEOUT_MS,
)
