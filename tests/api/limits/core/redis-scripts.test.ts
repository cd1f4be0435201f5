import { expect, test } from 'vitest'
import { type RedisClient, redisScripts } from '../../../../api/limits/core/redis-scripts.ts'
import { DECIDE_SCRIPT } from '../../../../api/limits/core/script.ts'

/**
 * Creates a client that looks as if it came from a second copy of ioredis: its prototype chain contains no class of
 * this project's copy.
 */
function foreignClient(more: object = {}): RedisClient {
  return { evalsha: async () => [0], eval: async () => [0], ...more }
}

test('all keys of a single server belong to one group', () => {
  const { groupOf, nodeOf } = redisScripts(foreignClient({ isCluster: false }))
  expect(groupOf('a')).toBe(groupOf('b'))
  expect(nodeOf(groupOf('a'))).toBe('')
})

test('a Cluster client from another copy of ioredis is recognized, and keys are grouped by hash slot and master', () => {
  const slots: string[][] = []
  // 0x31C3 is the slot of "123456789" in the Redis Cluster specification.
  slots[0x31c3] = ['10.0.0.1:6379', '10.0.0.2:6379']
  const { groupOf, nodeOf } = redisScripts(foreignClient({ isCluster: true, slots }))
  expect(groupOf('123456789')).toBe(String(0x31c3))
  expect(nodeOf(groupOf('123456789'))).toBe('10.0.0.1:6379')
  expect(nodeOf('7')).toBe('')
})

test("the script's text is sent to a server that has not cached the script, and other errors are passed on", async () => {
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
