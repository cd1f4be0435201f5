import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openModel } from '../../../api/recommendations/model/open.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { historyBuilder } from '../../../tools/recommendations/history/history.ts'
import { compare } from '../../../tools/recommendations/train/compare.ts'
import { START } from '../../api/kit/harness.ts'
import { type TestBundle, writeBundle } from '../../api/recommendations/model/bundle.ts'
import { interaction } from '../../pipelines/recommendations/events.ts'

const MINUTE = 60_000
/** Number of other items. They fill the lists of a model that finds no better items. */
const OTHERS = 100

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-compare-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function opened(name: string, bundle: Pick<TestBundle, 'axes' | 'tokens'>) {
  writeBundle(join(folder, name), { sequence: 1, trainedAt: START, ...bundle })
  return openModel(join(folder, name))
}

function itemOf(title: string): RecommendationItem {
  const texts = { title, description: '', category_path: '', attributes: {}, thumbnail_url: null }
  return { ...texts, popularity: 0, status: 'ACTIVE', created_at: START, updated_at: START }
}

test('in a comparison, the version in force also has vectors of items that were added after its training, as in the API', async () => {
  const items = new Map(Array.from({ length: OTHERS }, (_, index) => [BigInt(100 + index), itemOf('Scarf')]))
  items.set(1n, itemOf('Kettle')).set(900n, itemOf('Heat'))
  const builder = historyBuilder()
  builder.add(1n, interaction({ item_id: 1n, timestamp: START }))
  builder.add(1n, interaction({ item_id: 900n, timestamp: START + MINUTE }))
  const candidate = await opened('candidate', {
    axes: new Map([
      [1n, 0],
      [900n, 0],
    ]),
  })
  const inForce = await opened('in-force', { axes: new Map([[1n, 0]]), tokens: { 'title:heat': 0 } })
  const catalogue = { items, users: new Map(), preferences: new Map(), editorial: new Map() }
  const past = { history: builder.build(), catalogue, shown: [], from: 1, to: 2, questions: 1, seed: 1 }
  const compared = await compare({ ...past, candidate, inForce })
  candidate.close()
  inForce.close()
  expect(compared).toMatchObject({ questions: 1, candidate: 1, inForce: 1 })
})

test('the test cases of a single user are too few to show that a version is worse', async () => {
  const items = new Map(Array.from({ length: OTHERS }, (_, index) => [BigInt(100 + index), itemOf('Scarf')]))
  items.set(1n, itemOf('Kettle')).set(900n, itemOf('Heat'))
  const similar = new Map([1n, 900n].map((itemId) => [itemId, 0]))
  const candidate = await opened('worse', { axes: new Map(similar).set(900n, 1) })
  const inForce = await opened('better', { axes: similar })
  const catalogue = { items, users: new Map(), preferences: new Map(), editorial: new Map() }
  const compared = async (users: readonly bigint[]) => {
    const builder = historyBuilder()
    for (const userId of users) builder.add(userId, interaction({ item_id: 1n, timestamp: START }))
    for (const userId of users) builder.add(userId, interaction({ item_id: 900n, timestamp: START + MINUTE }))
    const [from, to] = [users.length, 2 * users.length]
    return await compare({ history: builder.build(), catalogue, shown: [], from, to, questions: 9, seed: 1, candidate, inForce })
  }
  const [one, three] = [await compared([1n]), await compared([1n, 2n, 3n])]
  candidate.close()
  inForce.close()
  expect(one.candidate).toBeLessThan(one.inForce)
  expect(one).toMatchObject({ questions: 1, low: -1, high: 1 })
  expect(three.high).toBeLessThan(0)
})
