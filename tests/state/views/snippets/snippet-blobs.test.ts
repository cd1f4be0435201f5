import { expect, test } from 'vitest'
import { positionsKey } from '../../../../state/views/apply.ts'
import { referencedIn } from '../../../../state/views/references.ts'
import { blobReferences } from '../../../../state/views/snippets/snippet-blobs.ts'
import { caughtUpKey } from '../../../../state/views/view.ts'

const VIEW = 'snippet-blobs'
const HASH = 'a'.repeat(64)
const MADE_BEFORE = 1_700_000_000_000

/** Creates a Redis with one reference, in which each of the two partitions was complete at the given time. */
function redisCompleteAt(...times: readonly number[]) {
  const keys = new Set([`{${VIEW}:1}:blob:${HASH}`, ...times.map((_at, partition) => caughtUpKey(VIEW, partition))])
  const positions = new Map(times.map((at, partition) => [positionsKey(VIEW, partition), String(at)]))
  return {
    keys,
    exists: async (key: string) => Number(keys.has(key)),
    hget: async (key: string, field: string) => (field === 'snippet-blobs:at' ? (positions.get(key) ?? null) : null),
  }
}

const query = { partitions: 2, hashes: [HASH, 'b'.repeat(64)], madeBefore: MADE_BEFORE }

test('the blobs that any partition references are found', async () => {
  expect(await referencedIn(blobReferences, redisCompleteAt(MADE_BEFORE, MADE_BEFORE + 1), query)).toEqual(new Set([HASH]))
})

test('the search for references fails if a partition caught up earlier but now lags behind, because it may lack a reference', async () => {
  const lagging = redisCompleteAt(MADE_BEFORE, MADE_BEFORE - 1)
  await expect(referencedIn(blobReferences, lagging, query)).rejects.toThrow('the references of partition 1 are not up to date')
})

test('the search for references fails if a partition has not caught up', async () => {
  const redis = redisCompleteAt(MADE_BEFORE, MADE_BEFORE)
  redis.keys.delete(caughtUpKey(VIEW, 0))
  await expect(referencedIn(blobReferences, redis, query)).rejects.toThrow('the references of partition 0 have not caught up yet')
  await expect(referencedIn(blobReferences, redisCompleteAt(), query)).rejects.toThrow('partition 0')
})
