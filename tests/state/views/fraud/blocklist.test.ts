import { expect, test } from 'vitest'
import type { FraudBlocklistEntry } from '../../../../schemas/fraud/types.ts'
import { FRAUD_BLOCKLIST_VIEW, fraudBlocklistView, readBlocklist } from '../../../../state/views/fraud/blocklist.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const PARTITIONS = 2
const NEWEST = { type: undefined, after: undefined, limit: 10 }

test('if Redis is emptied while the list is read, the view counts as not caught up, and the list does not count as empty', async () => {
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

test('if Redis is emptied while the entries of a page are read, the view counts as not caught up', async () => {
  const redis = fakeRedis()
  const entryId = 'a'.repeat(32)
  const entry = { entry_id: entryId, entity_type: 'DEVICE', created_at: 1 } as FraudBlocklistEntry
  redis.apply(fraudBlocklistView.operationsFor(0, entryId, entry))
  redis.caughtUp(FRAUD_BLOCKLIST_VIEW, PARTITIONS)
  const { reader } = redis
  expect(await readBlocklist(reader, PARTITIONS, NEWEST)).toMatchObject({ entries: [entry] })
  const emptied: typeof reader = {
    ...reader,
    get(key) {
      redis.flush()
      return reader.get(key)
    },
  }
  expect(await readBlocklist(emptied, PARTITIONS, NEWEST)).toBe(NOT_CAUGHT_UP)
})
