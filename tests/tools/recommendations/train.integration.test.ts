import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openModel } from '../../../api/recommendations/model/open.ts'
import type { ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import { RANKING_FEATURES, RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { toolsFolder } from '../../../tools/config.ts'
import type { WeightedInteractions } from '../../../tools/recommendations/train/factorise.ts'
import { trainBundle } from '../../../tools/recommendations/train/make-bundle.ts'
import { type JudgedList, learnToRank } from '../../../tools/recommendations/train/rank.ts'

const USERS = 60
const ITEMS = 40
const LISTS = 60
const CANDIDATES = 20
const SIZES = { sequence: 3, trainedAt: Date.UTC(2026, 7, 1), seed: 1 }
/** Time limit for the first training run. It has to download the packages of the Python environment. */
const FIRST_TRAINING_MS = 300_000

/**
 * Users with even numbers like only items with even numbers. Users with odd numbers like only items with odd numbers.
 */
function interactions(): WeightedInteractions {
  const [userIds, itemIds]: [bigint[], bigint[]] = [[], []]
  for (let user = 0; user < USERS; user++)
    for (let step = 0; step < ITEMS / 4; step++) {
      userIds.push(BigInt(user + 1))
      itemIds.push(BigInt(((step * 3 + user) * 2 + (user % 2)) % ITEMS) + 1n)
    }
  return { userIds: BigInt64Array.from(userIds), itemIds: BigInt64Array.from(itemIds), weights: new Float32Array(userIds.length).fill(1) }
}

function contentOf(itemId: bigint): ItemContent {
  const [title, categoryPath] = itemId % 2n === 0n ? ['Iron kettle', 'kitchen'] : ['Woollen scarf', 'clothing']
  return { title, categoryPath, attributes: {} }
}

function train(folder: string, signal?: AbortSignal): Promise<string> {
  return trainBundle({ folder, tools: toolsFolder(), interactions: interactions(), contentOf, lists: lists(), signal, ...SIZES })
}

/** Returns lists in which the user always chose the candidate with the highest value of the first feature. */
function lists(): JudgedList[] {
  return Array.from({ length: LISTS }, (_, list) => {
    const features = new Float64Array(CANDIDATES * RANKING_WIDTH)
    const labels = new Uint8Array(CANDIDATES)
    for (let row = 0; row < CANDIDATES; row++) {
      const value = (row * 7 + list) % CANDIDATES
      features[row * RANKING_WIDTH] = value
      if (value === CANDIDATES - 1) labels[row] = 1
    }
    return { features, labels }
  })
}

/**
 * Returns lists in which users mostly chose the item at the top, whatever it was. The first feature of an item is 1 if
 * the item is at the top.
 */
function shownLists(): JudgedList[] {
  return lists().map((_, list) => {
    const features = new Float64Array(CANDIDATES * RANKING_WIDTH)
    features[0] = 1
    const labels = new Uint8Array(CANDIDATES)
    labels[list % 4 === 0 ? (list * 7) % CANDIDATES : 0] = 1
    return { features, labels, positions: Uint32Array.from({ length: CANDIDATES }, (_, position) => position) }
  })
}

describe('training with Python', () => {
  let folder: string
  let version: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-training-'))
    version = await train(folder)
  }, FIRST_TRAINING_MS)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('the bundle can be opened for serving under the same version', async () => {
    const model = await openModel(folder)
    expect(model).toMatchObject({ version, sequence: 3, trainedAt: Date.UTC(2026, 7, 1) })
  })

  it('items that the same users like are near each other', async () => {
    const model = await openModel(folder)
    const vector = model.foldIn([{ itemId: 2n, weight: 1 }])!
    const near = model.nearest(vector, 10)
    expect(near.map(({ itemId }) => itemId % 2n)).toEqual(Array(10).fill(0n))
  })

  it('ranks chosen items above the others', async () => {
    const model = await openModel(folder)
    const [{ features }] = lists()
    const scores = model.score(features, CANDIDATES)!
    expect(scores.indexOf(Math.max(...scores))).toBe(lists()[0].labels.indexOf(1))
  })

  it('attributes choices to the position if they follow from the position', async () => {
    const gainOfTop = async (judged: readonly JudgedList[]) => {
      const place = await mkdtemp(join(tmpdir(), 'millrace-ranking-'))
      try {
        await learnToRank({ folder: place, tools: toolsFolder(), lists: judged, seed: 1 })
        const { gains } = JSON.parse(await readFile(join(place, 'ranked.json'), 'utf8'))
        return gains[RANKING_FEATURES[0]] as number
      } finally {
        await rm(place, { recursive: true, force: true })
      }
    }
    const shown = shownLists()
    const unplaced = shown.map(({ features, labels }) => ({ features, labels }))
    expect(await gainOfTop(shown)).toBeLessThan(0.5 * (await gainOfTop(unplaced)))
  })

  it('the vector of a newer item is closer to an item with the same content than to an item with different content', async () => {
    const model = await openModel(folder)
    model.addItem({ itemId: 1_000n, ...contentOf(2n) })
    const newer = model.vectorOf(1_000n)!
    const cosineTo = (itemId: bigint) => model.vectorOf(itemId)!.reduce((sum, value, at) => sum + value * newer[at], 0)
    expect(cosineTo(2n)).toBeGreaterThan(cosineTo(1n))
  })

  it('leaves no bundle behind that serving would open if the training is aborted', async () => {
    const aborted = await mkdtemp(join(tmpdir(), 'millrace-training-'))
    try {
      await expect(train(aborted, AbortSignal.abort())).rejects.toThrow('aborted')
      await expect(openModel(aborted)).rejects.toThrow('the manifest cannot be read')
    } finally {
      await rm(aborted, { recursive: true, force: true })
    }
  })

  it('a bundle whose file was damaged afterwards is refused', async () => {
    await writeFile(join(folder, 'trees.txt'), 'damaged')
    await expect(openModel(folder)).rejects.toThrow('trees.txt does not match its checksum or length')
  })
})
