import { expect, test } from 'vitest'
import type { RecommendationModel } from '../../../../api/recommendations/model/model.ts'
import { newerItems } from '../../../../api/recommendations/model/newer-items.ts'
import type { RecommendationItem } from '../../../../schemas/recommendations/types.ts'

test('a newly opened model gets the kept items in the order of their changes, so that it drops the oldest first', async () => {
  const items = newerItems()
  const item = { title: 'Heat', category_path: '', attributes: {} } as RecommendationItem
  for (const itemId of [1n, 2n, 3n, 1n]) items.put(itemId, item, [])
  const added: bigint[] = []
  await items.fill({ addItem: ({ itemId }: { itemId: bigint }) => void added.push(itemId) } as unknown as RecommendationModel)
  expect(added).toEqual([2n, 3n, 1n])
})
