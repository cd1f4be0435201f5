import { expect, test } from 'vitest'
import { FRAUD_BLOCKLIST_VIEW, readBlocklist } from '../../../../state/views/fraud/blocklist.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const PARTITIONS = 2
const NEWEST = { type: undefined, after: undefined, limit: 10 }

test('a list that is read while Redis is emptied is not an empty list', async () => {
  const redis = fakeRedis()
  redis.caughtUp(FRAUD_BLOCKLIST_VIEW, PARTITIONS)
  const { reader } = redis
  expect(await readBlocklist(reader, PARTITIONS, NEWEST)).toEqual({ entries: [], next: undefined })
  const emptied: typeof reader = {
    ...reader,
    zrangebylex(...range) {
      redis.flush()
      return reader.zrangebylex(...range)
    },
  }
  expect(await readBlocklist(emptied, PARTITIONS, NEWEST)).toBe(NOT_CAUGHT_UP)
})
