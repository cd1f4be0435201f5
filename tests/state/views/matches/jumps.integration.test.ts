import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { runScript } from '../../../../state/redis/run-script.ts'
import { COUNT_JUMP, jumpArguments, jumpKeys, UNDO_JUMP } from '../../../../state/views/matches/jumps.ts'
import { LEFT } from '../../../../state/views/matches/recent.ts'
import { userKeys } from '../../../../state/views/matches/users.ts'
import { ANN } from '../../../pipelines/matches/swipes.ts'
import { privateRedis } from '../../../stack/index.ts'

const HOUR_MS = 3_600_000

test('twenty jumps per hour are allowed, and setting a first place counts as a jump only after the deletion of a profile', async () => {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const keys = userKeys(0, ANN)
  const start = Date.now()
  const jump = async (afterMs: number, isFirstPlace = false, member: string = randomUUID()) =>
    Number(await runScript(redis, COUNT_JUMP, jumpKeys(keys), jumpArguments(start + afterMs, member, isFirstPlace)))
  for (let index = 0; index < 30; index++) expect([index, await jump(0, true)]).toEqual([index, 0])
  for (let index = 0; index < 20; index++) expect([index, await jump(index)]).toEqual([index, 0])
  expect(await jump(100)).toBe(HOUR_MS - 100)
  // A jump that is taken back does not count.
  await redis.zpopmax(keys.jumps)
  for (let index = 0; index < 2; index++) {
    expect(await jump(19, false, 'undone')).toBe(0)
    await runScript(redis, UNDO_JUMP, jumpKeys(keys), ['undone'])
  }
  expect([await jump(19), await jump(100)]).toEqual([0, HOUR_MS - 100])
  expect(await jump(100, true)).toBe(0)
  await redis.hset(keys.recent, LEFT, String(start))
  expect(await jump(100, true)).toBe(HOUR_MS - 100)
  expect(await jump(HOUR_MS, true)).toBe(0)
  expect(await jump(HOUR_MS)).toBe(1)
})
