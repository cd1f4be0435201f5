import { expect, test } from 'vitest'
import { INTERESTS_VIEW, interestsView, readInterests } from '../../../../state/views/trends/interests.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const USER = 9_007_199_254_740_993n
const profile = { user_id: USER, topic_weights: { cats: 0.75, 'naïve "topic"': 2 }, exclude_topics: ['dogs\n'], updated_at: 5 }

test('a profile reads back as it was written, until it is deleted', async () => {
  const { reader, apply, caughtUp, flush } = fakeRedis()
  caughtUp(INTERESTS_VIEW, 2)
  apply(interestsView.operationsFor(1, USER, profile))
  const { user_id: _, ...stored } = profile
  expect(await readInterests(reader, 1, USER)).toEqual(stored)
  expect(await readInterests(reader, 1, USER - 1n)).toBeUndefined()
  apply(interestsView.operationsFor(1, USER, null))
  expect(await readInterests(reader, 1, USER)).toBeUndefined()
  flush()
  expect(await readInterests(reader, 1, USER)).toBe(NOT_CAUGHT_UP)
})

test('weights that another service writes are limited to the range of the API, and weights that are not numbers are left out', async () => {
  const { reader, apply, caughtUp } = fakeRedis()
  caughtUp(INTERESTS_VIEW, 2)
  const topic_weights = { none: Number.NaN, most: Number.POSITIVE_INFINITY, large: 1_001, negative: -1, zero: -0, fair: 0.5 }
  apply(interestsView.operationsFor(1, USER, { ...profile, topic_weights }))
  expect(await readInterests(reader, 1, USER)).toMatchObject({
    topic_weights: { most: 1_000, large: 1_000, negative: 0, zero: 0, fair: 0.5 },
  })
})
