import { expect, test } from 'vitest'
import { generateCandidates, type RecType } from '../../../../api/recommendations/candidates/generate.ts'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { leaders } from '../../../../api/recommendations/items/leaders.ts'
import type { RecommendationModel } from '../../../../api/recommendations/model/model.ts'
import { unknownUser } from '../../../../api/recommendations/users/request-user.ts'
import { itemNamed } from '../../../pipelines/recommendations/events.ts'

const ITEMS = 2_000
const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => BigInt(first + index))

test('trending items are candidates even if neighbours, the nearest items and the items of editors could fill the set', () => {
  const items = itemTable()
  for (const itemId of idsFrom(1, ITEMS)) items.putItem(itemId, itemNamed('Item'))
  const viewed = idsFrom(1, 5)
  const neighbours = new Map(
    viewed.map((itemId, place) => [itemId, idsFrom(100 + 50 * place, 50).map((id) => ({ itemId: id, weight: 1 }))]),
  )
  const nearest = idsFrom(1_000, 200).map((itemId, place) => ({ itemId, similarity: 1 - place / 200 }))
  const model = { nearest: () => nearest, productWith: () => 0 } as unknown as RecommendationModel
  const set = generateCandidates(
    {
      items,
      leaders: leaders({ items, now: () => 0 }),
      trendingFor: () => idsFrom(500, 50),
      editorialFor: () => idsFrom(600, 50),
    },
    {
      user: { ...unknownUser(1n), lastViewed: viewed, recent: viewed },
      ...{ recType: 'personalized', context: 'homepage', anchor: undefined, neighbours, model, vector: new Float32Array(1) },
    },
  )
  const counts = Object.fromEntries([...Map.groupBy(set.all(), ({ channel }) => channel)].map(([channel, of]) => [channel, of.length]))
  expect(counts).toEqual({ neighbours: 250, editorial: 50, trending: 50, vector: 150 })
  const similar = set.all().filter(({ channel }) => channel === 'vector')
  expect(similar.at(-1)?.itemId).toBe(nearest[149].itemId)
})

test('each channel adds at most its share of candidates: 200 by vector, 50 editorial, 30 per preference, and 50 trending or, in a trending list, 200', () => {
  const items = itemTable()
  for (const itemId of idsFrom(1, ITEMS)) {
    const brand = itemId > 1_600n ? 'Acme' : 'Other'
    items.putItem(itemId, { ...itemNamed('Item'), attributes: { brand } })
  }
  const model = {
    nearest: (_vector: Float32Array, count: number) => idsFrom(1_000, count).map((itemId) => ({ itemId, similarity: 0.5 })),
    productWith: () => 0,
  } as unknown as RecommendationModel
  const sources = {
    items,
    leaders: leaders({ items, now: () => 0 }),
    trendingFor: () => idsFrom(100, 300),
    editorialFor: () => idsFrom(500, 300),
  }
  const preferences = [{ category: 'brand', value: 'Acme', weight: 1 }]
  const asked = { user: { ...unknownUser(1n), preferences }, context: 'homepage', anchor: undefined, neighbours: new Map(), model } as const
  function countsOf(recType: RecType) {
    const set = generateCandidates(sources, { ...asked, recType, vector: new Float32Array(1) })
    return Object.fromEntries([...Map.groupBy(set.all(), ({ channel }) => channel)].map(([channel, of]) => [channel, of.length]))
  }
  expect(countsOf('personalized')).toEqual({ editorial: 50, trending: 50, vector: 200, preference: 30 })
  expect(countsOf('trending')).toEqual({ trending: 200 })
})
