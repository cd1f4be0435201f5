import { expect, test } from 'vitest'
import type { RecommendationItem } from '../../../../schemas/recommendations/types.ts'
import { recommendationItemsView, shownItem, shownItemKey } from '../../../../state/views/recommendations/items.ts'
import { fakeRedis } from '../fake-redis.ts'

const ITEM: RecommendationItem = {
  title: 'Heat',
  description: '',
  category_path: 'Movies',
  attributes: {},
  popularity: 0,
  thumbnail_url: null,
  status: 'ACTIVE',
  created_at: 1,
  updated_at: 1_000,
}

test('the newest record of an item counts, regardless of the order of arrival', () => {
  const redis = fakeRedis()
  const key = shownItemKey(0, '5')
  function put(item: RecommendationItem | null): void {
    const heldKey = recommendationItemsView.heldKey!(0, 5n, item)
    const held = heldKey === undefined ? null : redis.held(heldKey)
    redis.apply(recommendationItemsView.operationsFor(0, 5n, item, { held, now: 0 }))
  }
  put(ITEM)
  put({ ...ITEM, title: 'Older', status: 'INACTIVE', updated_at: 999 })
  expect(shownItem(redis.held(key))).toMatchObject({ title: 'Heat', status: 'ACTIVE' })
  put({ ...ITEM, title: 'Corrected' })
  expect(shownItem(redis.held(key))?.title).toBe('Corrected')
  put(null)
  expect(redis.held(key)).toBeNull()
  put({ ...ITEM, updated_at: 1 })
  expect(shownItem(redis.held(key))?.title).toBe('Heat')
})

test('a value that cannot be read is replaced, and is not shown until then', () => {
  const held = '{"title":'
  expect(shownItem(held)).toBeUndefined()
  expect(recommendationItemsView.operationsFor(0, 5n, ITEM, { held, now: 0 })).toHaveLength(1)
})

test('a value without a time, from an earlier version, is replaced', () => {
  const held = JSON.stringify({ title: 'Heat', thumbnail_url: null, category_path: '', attributes: {}, status: 'ACTIVE' })
  expect(recommendationItemsView.operationsFor(0, 5n, ITEM, { held, now: 0 })).toHaveLength(1)
})
