import { expect, test } from 'vitest'
import { openTables } from '../../../api/recommendations/tables.ts'
import type { ServiceKit } from '../../../api/service.ts'
import { items as itemsTopic } from '../../../schemas/recommendations/topics.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'

const NEW = 2_000
const OLD = 1_000

function item(status: RecommendationItem['status'], updated_at: number): RecommendationItem {
  return {
    ...{ title: '', description: '', category_path: '', attributes: {}, popularity: 0, thumbnail_url: null },
    ...{ status, created_at: 0, updated_at },
  }
}

/** Opens tables. The test supplies the records of the topic of items. */
async function tablesOfItems() {
  let apply = (_itemId: bigint, _item: RecommendationItem | undefined, _replaces: boolean): void => undefined
  let held = (): Iterable<bigint> => []
  async function topicFeeds(topic: AnyTopic, onValue: typeof apply, onHeld: typeof held) {
    if (topic.name === itemsTopic.name) [apply, held] = [onValue, onHeld]
    return { probe: { name: topic.name, check: async () => undefined }, close: async () => undefined }
  }
  const changed: bigint[] = []
  const { items } = await openTables({
    topicFeeds: topicFeeds as unknown as ServiceKit['topicFeeds'],
    feedSnapshots: async () => ({ loaded: undefined, positionIn: () => undefined, keep() {}, close: async () => undefined }),
    newer: { saved: () => [], restore() {} },
    now: () => NEW,
    onItem: (itemId) => void changed.push(itemId),
  })
  return { items, apply, held, changed }
}

test('if the topic of items is created again, its active and inactive items replace items of the old topic, even if those are newer', async () => {
  const { items, apply, held, changed } = await tablesOfItems()
  const isActive = (itemId: bigint) => items.isActive(items.rowOf(itemId))
  apply(1n, item('ACTIVE', NEW), false)
  apply(2n, item('INACTIVE', NEW), false)
  apply(1n, item('INACTIVE', OLD), false)
  expect([...held()]).toEqual([1n, 2n])
  expect([isActive(1n), isActive(2n), changed]).toEqual([true, false, [1n, 2n]])
  apply(1n, item('INACTIVE', OLD), true)
  apply(2n, item('ACTIVE', OLD), true)
  apply(2n, item('INACTIVE', OLD - 1), false)
  expect([isActive(1n), isActive(2n), changed]).toEqual([false, true, [1n, 2n, 1n, 2n]])
})

test('an item is ignored if its id is not positive, because no request could name the item', async () => {
  const { items, apply } = await tablesOfItems()
  for (const id of [0n, -5n, 1n]) apply(id, item('ACTIVE', NEW), false)
  expect([0n, -5n, 1n].map((id) => items.isActive(items.rowOf(id)))).toEqual([false, false, true])
})
