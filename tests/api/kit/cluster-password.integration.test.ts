import { expect, onTestFinished, test } from 'vitest'
import { redisResultChannel } from '../../../api/kit/commands/result-channel.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../api/kit/redis.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { viewTag } from '../../../state/views/view.ts'
import { privateRedisCluster } from '../../state/views/redis-cluster.ts'

const NODES = 3
/** Enough partitions for every node to have several. */
const PARTITIONS = 12
const READY_TIMEOUT_MS = 30_000

test('the password in the URL applies to all nodes of a cluster', { timeout: 120_000 }, async () => {
  const url = await privateRedisCluster(NODES, { password: 'p@ss/word' })
  const log = createLogger('silent')
  const redis = connectViewRedis({ url, cluster: true, log, monotonic: () => performance.now() })
  onTestFinished(() => redis.close())
  const channel = redisResultChannel({ url, cluster: true, name: 'any', log })
  onTestFinished(() => channel.close())
  const keys = Array.from({ length: PARTITIONS }, (_, partition) => `${viewTag('people', partition)}:none`)
  const set = { name: 'set', source: `return redis.call('SET', KEYS[1], ARGV[1])` }
  const isReady = async () => {
    await Promise.all(keys.map((key) => redis.scripts.run(set, [key], ['found'])))
    return (await Promise.all(keys.map((key) => redis.reader.get(key)))).every((value) => value === 'found') && channel.isOpen
  }
  await waitUntil(isReady, { what: 'every node to accept the password', timeoutMs: READY_TIMEOUT_MS })
  expect(channel.isOpen).toBe(true)
})
