import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { flushTestRedis } from './flush-redis.ts'
import { guardedFolder } from './folder.ts'

function redisIn(dir: string) {
  const redis = { flushed: 0, config: async () => ['dir', dir], flushall: async () => `${++redis.flushed}` }
  return redis
}

test('flushTestRedis empties a Redis whose data is in the folder of a test', async () => {
  const dir = join(guardedFolder().path, 'redis')
  mkdirSync(dir)
  const redis = redisIn(dir)
  await flushTestRedis(redis as never)
  expect(redis.flushed).toBe(1)
})

test.each(['/var/lib/redis', tmpdir(), join(tmpdir(), 'redis'), join(tmpdir(), 'millrace-test-x', '..', 'redis'), ''])(
  'flushTestRedis refuses to empty a Redis whose data is in the folder "%s"',
  async (dir) => {
    const redis = redisIn(dir)
    await expect(flushTestRedis(redis as never)).rejects.toThrow('refused to empty the Redis')
    expect(redis.flushed).toBe(0)
  },
)
