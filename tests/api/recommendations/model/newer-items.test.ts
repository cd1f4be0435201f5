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

test('an item that changes or is deleted while a model is filled does not get its old content', async () => {
  const items = newerItems()
  const titled = (title: string) => ({ title, category_path: '', attributes: {} }) as RecommendationItem
  for (let itemId = 1n; itemId <= 64n; itemId++) items.put(itemId, titled('Old'), [])
  const titles = new Map<bigint, string>()
  const addItem = ({ itemId, title }: { itemId: bigint; title: string }) => void titles.set(itemId, title)
  const filling = items.fill({ addItem } as unknown as RecommendationModel)
  // The model has the first items now, and gets the others after a pause.
  expect([titles.has(1n), titles.has(64n)]).toEqual([true, false])
  items.put(63n, undefined, [])
  items.put(64n, titled('New'), [])
  await filling
  expect([titles.get(62n), titles.get(63n), titles.get(64n)]).toEqual(['Old', undefined, 'New'])
})
