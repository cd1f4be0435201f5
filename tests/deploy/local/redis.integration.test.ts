import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { privateRedis } from '../../stack/index.ts'

test('a Redis that was stopped restarts with its keys', async () => {
  const server = await privateRedis()
  const before = new Redis(server.address)
  await before.set('greeting', 'hello')
  before.disconnect()
  await server.stop()
  await server.start()
  const after = new Redis(server.address)
  onTestFinished(() => after.disconnect())
  expect(await after.get('greeting')).toBe('hello')
})
