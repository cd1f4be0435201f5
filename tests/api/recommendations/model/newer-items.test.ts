import { expect, test } from 'vitest'
import type { RecommendationModel } from '../../../../api/recommendations/model/model.ts'
import { newerItems } from '../../../../api/recommendations/model/newer-items.ts'
import type { RecommendationItem } from '../../../../schemas/recommendations/types.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'

test('a newly opened model gets the kept items in the order of their changes, so that it drops the oldest first', async () => {
  const items = newerItems()
  const item = { title: 'Heat', category_path: '', attributes: {} } as RecommendationItem
  for (const itemId of [1n, 2n, 3n, 1n]) items.put(itemId, item, [])
  const added: bigint[] = []
  await items.fill({ addItem: ({ itemId }: { itemId: bigint }) => void added.push(itemId) } as unknown as RecommendationModel)
  expect(added).toEqual([2n, 3n, 1n])
})

test('an item that changes or is deleted while a model is being filled is not added with its old content', async () => {
  const items = newerItems()
  const titled = (title: string) => ({ title, category_path: '', attributes: {} }) as RecommendationItem
  for (let itemId = 1n; itemId <= 64n; itemId++) items.put(itemId, titled('Old'), [])
  const titles = new Map<bigint, string>()
  const addItem = ({ itemId, title }: { itemId: bigint; title: string }) => void titles.set(itemId, title)
  const removeItem = (itemId: bigint) => void titles.delete(itemId)
  const filling = items.fill({ addItem, removeItem } as unknown as RecommendationModel)
  // The model has the first items now, and gets the others after a pause.
  expect([titles.has(1n), titles.has(64n)]).toEqual([true, false])
  for (const itemId of [1n, 63n]) items.put(itemId, undefined, [])
  items.put(64n, titled('New'), [])
  await filling
  expect([1n, 62n, 63n, 64n].map((itemId) => titles.get(itemId))).toEqual([undefined, 'Old', undefined, 'New'])
})

test('the items with the newest changes are kept, even if the partitions of the topic are read one after another', async () => {
  const [partitions, ofPartition, most] = [4, 50, 20]
  const items = newerItems(most)
  const opened = new Set<bigint>()
  const model = {
    addItem: ({ itemId }: { itemId: bigint }) => void opened.add(itemId),
    removeItem: (itemId: bigint) => void opened.delete(itemId),
  } as unknown as RecommendationModel
  for (let partition = 0; partition < partitions; partition++) {
    for (let place = 0; place < ofPartition; place++) {
      const changedAt = place * partitions + partition
      const item = { title: '', category_path: '', attributes: {}, updated_at: changedAt } as unknown as RecommendationItem
      items.put(BigInt(1 + changedAt), item, [model])
    }
  }
  const all = partitions * ofPartition
  const newest = Array.from({ length: most }, (_, at) => BigInt(1 + all - most + at))
  expect(Array.from(items.saved(), ([itemId]) => itemId)).toEqual(newest)
  expect([...opened].sort((one, other) => Number(one - other))).toEqual(newest)
})

test('during 5,000 changes to a few hundred items, the items that changed last are kept', () => {
  const random = seededRandom(3)
  const most = 50
  const items = newerItems(most)
  const changedAt = new Map<bigint, number>()
  for (let time = 0; time < 5_000; time++) {
    const itemId = BigInt(1 + integer(random, 60 + time / 50))
    const isDeleted = random() < 0.1
    const item = { title: `${time}`, category_path: '', attributes: {}, updated_at: time } as unknown as RecommendationItem
    items.put(itemId, isDeleted ? undefined : item, [])
    changedAt.delete(itemId)
    if (!isDeleted) changedAt.set(itemId, time)
    if (changedAt.size > most) changedAt.delete(changedAt.keys().next().value!)
    if (time % 500 === 0) expect(Array.from(items.saved(), ([kept]) => kept)).toEqual([...changedAt.keys()])
  }
})
