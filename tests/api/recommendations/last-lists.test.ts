import { expect, test } from 'vitest'
import { lastLists } from '../../../api/recommendations/serve/last-lists.ts'

const ITEM = { itemId: 1n, score: 0.5, recType: 'trending', channel: 'trending', sourceItemId: undefined } as const

test('the last list of a user contains no details of the ranking, and is forgotten after half an hour', () => {
  let now = 0
  const lists = lastLists(() => now)
  const details = { features: new Float64Array(500) }
  const because = { itemId: 2n ** 62n, score: 0.1, recType: 'because_you_watched', channel: 'vector', sourceItemId: 3n } as const
  const made = { modelVersion: 'rules-1', isCapRelaxed: true }
  lists.keep(7n, { items: [{ ...ITEM, details } as typeof ITEM, because], ...made })
  expect(lists.of(7n)).toEqual({ items: [ITEM, because], ...made })
  now = 30 * 60_000
  expect(lists.of(7n)?.items).toHaveLength(2)
  now++
  expect(lists.of(7n)).toBeUndefined()
})
