import { expect, test } from 'vitest'
import type { FraudBlocklistEntry } from '../../../../schemas/fraud/types.ts'
import { FRAUD_BLOCKLIST_VIEW, fraudBlocklistView, readBlocklist } from '../../../../state/views/fraud/blocklist.ts'
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

test('entries that are read while Redis is emptied are not missing from the page', async () => {
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
