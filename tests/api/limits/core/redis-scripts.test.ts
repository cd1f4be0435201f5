import { expect, test } from 'vitest'
import { type RedisClient, redisScripts } from '../../../../api/limits/core/redis-scripts.ts'
import { DECIDE_SCRIPT } from '../../../../api/limits/core/script.ts'

/** A client of another copy of ioredis: no class of this project's copy is in its prototype chain. */
function foreignClient(more: object = {}): RedisClient {
  return { evalsha: async () => [0], eval: async () => [0], ...more }
}

test('one server is one group', () => {
  const { groupOf, nodeOf } = redisScripts(foreignClient({ isCluster: false }))
  expect(groupOf('a')).toBe(groupOf('b'))
  expect(nodeOf(groupOf('a'))).toBe('')
})

test('a cluster of another copy of ioredis is one: its groups are hash slots, and its nodes their masters', () => {
  const slots: string[][] = []
  // From the specification of Redis Cluster: the slot of "123456789" is 0x31C3.
  slots[0x31c3] = ['10.0.0.1:6379', '10.0.0.2:6379']
  const { groupOf, nodeOf } = redisScripts(foreignClient({ isCluster: true, slots }))
  expect(groupOf('123456789')).toBe(String(0x31c3))
  expect(nodeOf(groupOf('123456789'))).toBe('10.0.0.1:6379')
  expect(nodeOf('7')).toBe('')
})

test('a server that does not know the script gets its text; other errors reject', async () => {
  const texts: string[] = []
  const failing = (message: string) =>
    redisScripts(
      foreignClient({
        evalsha: () => Promise.reject(new Error(message)),
        eval: async (script: string) => {
          texts.push(script)
          return [1]
        },
      }),
    )
  expect(await failing('NOSCRIPT No matching script').run(['k'], [1])).toEqual([1])
  expect(texts).toEqual([DECIDE_SCRIPT])
  await expect(failing('OOM command not allowed').run(['k'], [1])).rejects.toThrow('OOM')
})
