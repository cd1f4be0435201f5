import { expect, test } from 'vitest'
import { newCandidate } from '../../../../api/recommendations/candidates/candidate.ts'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import type { RecommendationModel } from '../../../../api/recommendations/model/model.ts'
import { type Arrangement, arrange } from '../../../../api/recommendations/rank/arrange.ts'
import type { Scored } from '../../../../api/recommendations/rank/rank.ts'

const NOW = Date.UTC(2026, 0)
const DAY = 24 * 3_600_000
const TOP = 20

interface Item {
  readonly score: number
  readonly genre?: string
  readonly ageDays?: number
  /** By default, the model has no vector for the item. */
  readonly vector?: readonly number[]
}

/**
 * Arranges the items, without any explored items. Returns their ids in the resulting order. The first item of `all` has
 * the id 1, the second the id 2 and so on.
 */
function arrangedIds(all: readonly Item[], arrangement: Partial<Arrangement>): number[] {
  const items = itemTable()
  const rows = new Float64Array()
  const scored = all.map(({ score, genre = '', ageDays = 365 }, index): Scored => {
    const id = BigInt(index + 1)
    const content = { title: '', description: '', category_path: '', attributes: { genres: genre }, popularity: 0, thumbnail_url: null }
    items.putItem(id, { ...content, status: 'ACTIVE', created_at: NOW - ageDays * DAY, updated_at: NOW })
    return { candidate: newCandidate(items.rowOf(id), id, 'popular'), score, rows, start: 0 }
  })
  const vectorOf = (itemId: bigint) => {
    const { vector } = all[Number(itemId) - 1]
    return vector && Float32Array.from(vector)
  }
  const model = { vectorOf } as unknown as RecommendationModel
  const { list } = arrange(items, scored, { diversity: false, boost: undefined, model, explored: [], now: NOW, ...arrangement })
  return list.map(({ candidate }) => Number(candidate.itemId))
}

test('the limit per genre moves no more than two explored items into the first 20', () => {
  const items = itemTable()
  const put = (id: bigint, genres: string) => {
    const content = { title: '', description: '', category_path: '', attributes: { genres }, popularity: 0, thumbnail_url: null }
    items.putItem(id, { ...content, status: 'ACTIVE', created_at: 0, updated_at: NOW })
    return newCandidate(items.rowOf(id), id, 'popular')
  }
  const rows = new Float64Array()
  // The first 60 items have the same genre, so the limit moves all but three of them behind the items of other genres.
  const scored = Array.from({ length: 100 }, (_, place): Scored => {
    const candidate = put(BigInt(place + 1), place < 60 ? 'Drama' : `Genre ${place}`)
    return { candidate, score: 1 - place / 100, rows, start: 0 }
  })
  const explored = Array.from({ length: 6 }, (_, index): Scored => {
    return { candidate: put(1_000n + BigInt(index), `New ${index}`), score: 0, rows, start: 0 }
  })
  const { list, isCapRelaxed } = arrange(items, scored, { diversity: false, boost: undefined, model: undefined, explored, now: NOW })
  const placesOfExplored = list.flatMap(({ isExplored }, place) => (isExplored ? [place] : []))
  expect(placesOfExplored.filter((place) => place < TOP)).toHaveLength(2)
  expect(placesOfExplored.length).toBeGreaterThan(2)
  expect(isCapRelaxed).toBe(false)
})

test('the boost multiplies the scores of items younger than the maximum age, and of no others', () => {
  const all = [
    { score: 0.54, ageDays: 31 },
    { score: 0.53, ageDays: 30 },
    { score: 0.5, ageDays: 29 },
    { score: 0.48, ageDays: 0 },
  ]
  expect(arrangedIds(all, { boost: undefined })).toEqual([1, 2, 3, 4])
  expect(arrangedIds(all, { boost: { factor: 1.1, maxAgeDays: 30 } })).toEqual([3, 1, 2, 4])
})

test('with diversity, each place gets the item for which 0.7 times the score minus 0.3 times the highest similarity to an earlier item is greatest', () => {
  const [first, halfSimilar, other] = [
    [1, 0, 0, 0],
    [0.5, Math.sqrt(0.75), 0, 0],
    [0, 0, 1, 0],
  ]
  const withOther = (score: number) => [
    { score: 0.9, vector: first },
    { score: 0.8, vector: halfSimilar },
    { score, vector: other },
  ]
  expect(arrangedIds(withOther(0.59), {})).toEqual([1, 2, 3])
  // The second item has the value 0.56 - 0.15 = 0.41, and the third item 0.406 or 0.413.
  expect(arrangedIds(withOther(0.58), { diversity: true })).toEqual([1, 2, 3])
  expect(arrangedIds(withOther(0.59), { diversity: true })).toEqual([1, 3, 2])
})

test('with diversity, items without vectors are similar if they have the same genre', () => {
  const all = [
    { score: 0.9, genre: 'Drama' },
    { score: 0.8, genre: 'Drama' },
    { score: 0.385, genre: 'Comedy' },
    { score: 0.38 },
    { score: 0.36 },
  ]
  expect(arrangedIds(all, { diversity: true })).toEqual([1, 3, 4, 2, 5])
})

test('with diversity, only the 100 items with the highest scores can be in the list', () => {
  const alike = Array.from({ length: 99 }, () => ({ score: 0.9, vector: [1, 0, 0, 0] }))
  const different = [
    { score: 0.85, vector: [0, 1, 0, 0] },
    { score: 0.85, vector: [0, 0, 1, 0] },
  ]
  const list = arrangedIds([...alike, ...different], { diversity: true })
  expect(list.slice(0, 2)).toEqual([1, 100])
  expect(list).not.toContain(101)
})
