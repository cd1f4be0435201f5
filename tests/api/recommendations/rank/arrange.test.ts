import { expect, test } from 'vitest'
import { newCandidate } from '../../../../api/recommendations/candidates/candidate.ts'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { arrange } from '../../../../api/recommendations/rank/arrange.ts'
import type { Scored } from '../../../../api/recommendations/rank/rank.ts'

const NOW = Date.UTC(2026, 0)
const TOP = 20

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
