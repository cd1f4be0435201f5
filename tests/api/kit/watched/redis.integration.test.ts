import { Cluster, Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../../api/kit/redis.ts'
import { watchedRedis } from '../../../../api/kit/watched/redis.ts'
import type { WatchedRead } from '../../../../api/kit/watched/watched-keys.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { systemTimers } from '../../../../runtime/patient-timer.ts'
import { viewTag } from '../../../../state/views/view.ts'
import { privateRedis } from '../../../stack/index.ts'
import { privateRedisCluster } from '../../../state/views/redis-cluster.ts'

const PARTITIONS = 12
const SOON = { timeoutMs: 30_000, intervalMs: 10 }
const POLL = { timeout: SOON.timeoutMs, interval: SOON.intervalMs }
const TEST_TIMEOUT_MS = 120_000

function keysOf(partition: number): Record<'text' | 'bytes' | 'hash', string> {
  const key = (name: string) => `${viewTag('people', partition)}:${name}`
  return { text: key('text'), bytes: key('bytes'), hash: key('hash') }
}

async function opened(url: string, cluster: boolean) {
  const writer = cluster ? new Cluster([url]) : new Redis(url)
  onTestFinished(() => writer.disconnect())
  const log = createLogger('silent')
  const views = connectViewRedis({ url, cluster, log, monotonic: () => performance.now() })
  onTestFinished(() => views.close())
  const watched = watchedRedis({ url, cluster, unwatched: views.shared, log, now: Date.now, setTimer: systemTimers.setTimer })
  onTestFinished(() => watched.close())

  async function read(partition: number): Promise<WatchedRead> {
    const { text, bytes, hash } = keysOf(partition)
    const begun = watched.begin()
    await Promise.all([begun.get(text), begun.getBuffer(bytes), begun.hgetall(hash)])
    return begun
  }

  /** Reads a partition repeatedly until Redis watches the read for changes. */
  async function watchedRead(partition: number): Promise<WatchedRead> {
    let last: WatchedRead | undefined
    async function isWatched(): Promise<boolean> {
      last = await read(partition).catch(() => undefined)
      return last?.unchangedAt() !== undefined
    }
    await waitUntil(isWatched, { what: `a watched read of partition ${partition}`, ...SOON })
    return last!
  }

  return { writer: writer as Redis, read, watchedRead }
}

/** Waits until the change of a key that was read is reported. */
const changed = (read: WatchedRead) => expect.poll(() => read.unchangedAt(), POLL).toBeUndefined()

test.each([
  ['a single Redis server', false],
  ['every node of a cluster', true],
])(
  'changes of values and hashes on %s are reported, even if the key did not exist',
  async (_what, cluster) => {
    const url = cluster ? await privateRedisCluster(3) : (await privateRedis()).address
    const { writer, watchedRead } = await opened(url, cluster)
    for (let partition = 0; partition < PARTITIONS; partition++) await watchedRead(partition)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const { text, bytes, hash } = keysOf(partition)
      const other = await watchedRead((partition + 1) % PARTITIONS)
      const from = Date.now()
      const changes = [
        () => writer.set(text, 'new'),
        () => writer.set(text, 'newer'),
        () => writer.set(bytes, Buffer.from([255])),
        () => writer.hset(hash, 'field', '1'),
        () => writer.hset(hash, 'field', '2'),
        () => writer.del(text),
        () => writer.hdel(hash, 'field'),
      ]
      for (const change of changes) {
        const read = await watchedRead(partition)
        await change()
        await changed(read)
      }
      await expect.poll(() => other.unchangedAt(), POLL).toBeGreaterThanOrEqual(from)
    }
  },
  TEST_TIMEOUT_MS,
)

test(
  'after Redis was emptied or a connection was lost, earlier reads no longer count as current, and changes are reported again',
  async () => {
    const { writer, watchedRead } = await opened((await privateRedis()).address, false)
    const kill = (type: string) => writer.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
    for (const happen of [() => writer.flushall(), () => kill('normal'), () => kill('pubsub')]) {
      const read = await watchedRead(0)
      await happen()
      await changed(read)
      const again = await watchedRead(0)
      await writer.set(keysOf(0).text, String(Math.random()))
      await changed(again)
    }
  },
  TEST_TIMEOUT_MS,
)

test(
  'reads work, but are not watched, if Redis refuses to report changes',
  async () => {
    const url = (await privateRedis()).address
    const admin = new Redis(url)
    onTestFinished(() => admin.disconnect())
    await admin.acl('SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@all', '-client|tracking')
    const { read } = await opened(url.replace('redis://', 'redis://reader:pw@'), false)
    const isRefused = async () => ((await admin.acl('LOG')) as unknown[]).length > 0
    await waitUntil(() => read(0).then(isRefused), { what: 'the refusal', ...SOON })
    expect((await read(0)).unchangedAt()).toBeUndefined()
  },
  TEST_TIMEOUT_MS,
)
