import { expect, test } from 'vitest'
import { refillTarget } from '../../../pipelines/matches/refill-target.ts'
import { manualRuntime } from '../../../runtime/manual.ts'
import { ANN, BOB, CAT } from './swipes.ts'

test('the stack of each user in a batch is built once, old requests are skipped, and a failure does not affect other users', async () => {
  const runtime = manualRuntime({ startAt: 100_000 })
  const refilled: [number, string][] = []
  const target = refillTarget({
    runtime,
    async refill(partition, userId) {
      refilled.push([partition, userId])
      if (userId === BOB) throw new Error('Redis is unreachable')
      return 'built'
    },
  })
  const request = (offset: number, user_id: string, ts: number) => ({ offset, timestamp: ts, key: user_id, value: { user_id, ts } })
  const records = [request(1, BOB, 99_000), request(2, ANN, 99_000), request(3, ANN, 99_500), request(4, CAT, 70_000)]
  const write = target.prepare({ partition: { topic: 'refills', partition: 3 }, records, expected: 1, next: 5, caughtUp: false })
  expect(await write()).toEqual({ outcome: 'applied' })
  expect(refilled).toEqual([
    [3, BOB],
    [3, ANN],
  ])
  const facts = { start: 0, end: 9, committed: undefined, topicId: 'id', isBeyondEnd: async (offset: number) => offset > 9 }
  expect(await target.open({ topic: 'refills', partition: 3 }, facts)).toBe(9)
  expect(await target.open({ topic: 'refills', partition: 3 }, { ...facts, committed: { offset: 7, metadata: '' } })).toBe(7)
})
