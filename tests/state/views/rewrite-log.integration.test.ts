import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { systemRuntime } from '../../../runtime/system.ts'
import { rewriteRedisLogs } from '../../../state/views/rewrite-log.ts'
import { privateRedis } from '../../stack/index.ts'

async function connected() {
  const { address } = await privateRedis()
  const connect = (options = {}) => {
    const redis = new Redis(address, options)
    onTestFinished(() => redis.disconnect())
    return redis
  }
  const admin = connect()
  const rewrites = async () => Number(/^aof_rewrites:(\d+)/m.exec(await admin.info('persistence'))?.[1])
  return { admin, connect, rewrites }
}

test('the append-only files are rewritten', async () => {
  const { admin, rewrites } = await connected()
  const before = await rewrites()
  await rewriteRedisLogs(admin, systemRuntime())
  await expect.poll(rewrites).toBeGreaterThan(before)
})

test('while a rewrite is running, the next rewrite waits for its end, because the running rewrite may already have written values that were deleted later', async () => {
  const { admin, rewrites } = await connected()
  await admin.mset('a', '1', 'b', '2', 'c', '3')
  // The server pauses for this many microseconds after each key that it writes.
  await admin.config('SET', 'rdb-key-save-delay', '200000')
  await admin.bgrewriteaof()
  const before = await rewrites()
  await rewriteRedisLogs(admin, systemRuntime())
  await admin.config('SET', 'rdb-key-save-delay', '0')
  await expect.poll(rewrites, { timeout: 20_000 }).toBe(before + 1)
})

test('if the server does not allow a rewrite, a warning is logged; other errors are thrown', async () => {
  const { admin, connect, rewrites } = await connected()
  await admin.acl('SETUSER', 'restricted', 'on', '>secret', '~*', '+@all', '-bgrewriteaof')
  const before = await rewrites()
  const warnings: string[] = []
  const log = { ...systemRuntime().log, warn: (_: object, event: string) => void warnings.push(event) }
  await rewriteRedisLogs(connect({ username: 'restricted', password: 'secret' }), { ...systemRuntime(), log })
  expect(warnings).toEqual(['redis_log_not_rewritten'])
  expect(await rewrites()).toBe(before)
  const closed = connect()
  closed.disconnect()
  await expect(rewriteRedisLogs(closed, systemRuntime())).rejects.toThrow('closed')
})
