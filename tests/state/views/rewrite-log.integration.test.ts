import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
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
  await rewriteRedisLogs(admin)
  await expect.poll(rewrites).toBeGreaterThan(before)
})

test('nothing happens if the server does not allow the command, but other errors are thrown', async () => {
  const { admin, connect, rewrites } = await connected()
  await admin.acl('SETUSER', 'restricted', 'on', '>secret', '~*', '+@all', '-bgrewriteaof')
  const before = await rewrites()
  await rewriteRedisLogs(connect({ username: 'restricted', password: 'secret' }))
  expect(await rewrites()).toBe(before)
  const closed = connect()
  closed.disconnect()
  await expect(rewriteRedisLogs(closed)).rejects.toThrow('closed')
})
