import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CHECKED_ROWS, openFactors } from '../../../../api/recommendations/model/factors.ts'
import { BUNDLE_FORMAT, BundleError, DIMENSIONS, readManifest } from '../../../../api/recommendations/model/manifest.ts'
import { openModel, openVectors, type VectorShape } from '../../../../api/recommendations/model/open.ts'
import { RANKING_FEATURES } from '../../../../schemas/recommendations/ranking/ranking-features.ts'
import { turnsDuring } from '../../../turns-during.ts'
import { START } from '../../kit/harness.ts'
import { writeBundle } from './bundle.ts'

const AXES = new Map([
  [1n, 0],
  [2n, 0],
  [3n, 1],
])
const BYTES_PER_HALF = 2
/** Similarities are computed from rounded numbers. */
const ONE = expect.closeTo(1, 5)
/** Folder with the open files of this process on Linux. */
const OPEN_FILES = '/proc/self/fd'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-model-'))
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the version consists of the time of the training run and a hash of the manifest, so bundles with the same time have different versions', async () => {
  const { version } = await readManifest(folder)
  expect(version).toMatch(/^\d{8}T\d{6}-[0-9a-f]{8}$/)
  writeBundle(folder, { sequence: 5, trainedAt: START, axes: AXES })
  const other = await readManifest(folder)
  expect(other.version.slice(0, 15)).toBe(version.slice(0, 15))
  expect(other.version).not.toBe(version)
})

test.each([
  ['no text of JSON', 'the manifest is not valid'],
  ['{"format":2}', 'the manifest is not valid'],
])('the manifest %s is refused', async (text, message) => {
  writeFileSync(join(folder, 'manifest.json'), text)
  await expect(readManifest(folder)).rejects.toThrow(message)
})

test('the error for a missing file has ENOENT as its cause, because such a file can be fetched again', async () => {
  unlinkSync(join(folder, 'items.ids'))
  await expect(readManifest(folder)).rejects.toMatchObject({ name: 'BundleError', cause: { code: 'ENOENT' } })
})

test('an opened model computes vectors of users and finds items by inner product, and its trees prefer similar vectors', async () => {
  const model = await openModel(folder)
  const vector = model.foldIn([{ itemId: 1n, weight: 1 }])!
  expect(vector[0]).toBeCloseTo(1, 5)
  expect(model.foldIn([{ itemId: 99n, weight: 1 }])).toBeUndefined()
  const near = model.nearest(vector, 3)
  expect(
    near
      .slice(0, 2)
      .map(({ itemId }) => itemId)
      .sort(),
  ).toEqual([1n, 2n])
  for (const { itemId, similarity } of near) expect(similarity).toBeCloseTo(model.productWith(vector, itemId)!, 2)
  expect(model.similarTo(1n, 1)).toEqual([{ itemId: 2n, similarity: ONE }])
  expect(model.similarTo(99n, 1)).toEqual([])
  const rows = new Float64Array(2 * RANKING_FEATURES.length)
  rows[RANKING_FEATURES.indexOf('vector_similarity')] = 0.9
  const [high, low] = model.score(rows, 2)!
  expect([high, low].map((score) => score.toFixed(3))).toEqual(['0.818', '0.223'])
  model.close()
})

test('several interactions with an item count like one interaction with the sum of their confidences, as in training', async () => {
  const model = await openModel(folder)
  const liked = { itemId: 3n, weight: 1 }
  const once = (weight: number) => model.foldIn([{ itemId: 1n, weight }, liked])!
  const often = (weights: readonly number[]) => model.foldIn([...weights.map((weight) => ({ itemId: 1n, weight })), liked])!
  // The confidence of an interaction is its weight plus one, but at least 0.1.
  const pairs = [
    [often([1, 0.5, 1]), once(4.5)],
    [often([-1, -1, -1]), once(-0.7)],
  ]
  for (const [vector, expected] of pairs) for (const axis of [0, 1]) expect(vector[axis]).toBeCloseTo(expected[axis], 3)
  model.close()
})

test('of the items that are newer than the model, only those that were added last keep their vectors, so that a growing catalogue does not fill the memory', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, tokens: { 'title:heat': 0, 'title:cold': 1 } })
  const model = await openModel(folder, { mostAdded: 2 })
  const add = (itemId: bigint, title: string) => model.addItem({ itemId, title, categoryPath: '', attributes: {} })
  add(10n, 'Heat')
  add(11n, 'Cold')
  add(12n, 'Heat')
  expect([10n, 11n, 12n].map((itemId) => model.vectorOf(itemId) !== undefined)).toEqual([false, true, true])
  const near = (itemId: bigint) =>
    model
      .similarTo(itemId, 4)
      .filter(({ similarity }) => similarity > 0.5)
      .map((one) => one.itemId)
      .sort()
  expect(near(1n)).toEqual([12n, 2n])
  add(13n, 'Heat')
  expect(near(1n)).toEqual([12n, 13n, 2n])
  expect(near(3n)).toEqual([])
  model.close()
})

test('an item that is newer than the model gets a new vector when its content changes', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, tokens: { 'title:heat': 0, 'category:films': 1 } })
  const model = await openModel(folder, { mostAdded: 1 })
  const add = (title: string, categoryPath: string) => model.addItem({ itemId: 10n, title, categoryPath, attributes: {} })
  const mostSimilar = () => model.similarTo(10n, 1)[0].itemId
  add('Heat', '')
  expect([1n, 2n]).toContain(mostSimilar())
  for (const title of ['Cold', 'Cool']) add(title, 'Films')
  expect(mostSimilar()).toBe(3n)
  expect(model.nearest(model.vectorOf(3n)!, 5).filter(({ itemId }) => itemId === 10n)).toHaveLength(1)
  expect(model.productWith(model.vectorOf(3n)!, 10n)).toBe(1)
  model.close()
})

test('an item that is newer than the model loses its vector when none of its new content is known to the model', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, tokens: { 'title:heat': 0 } })
  const model = await openModel(folder, { mostAdded: 2 })
  const add = (itemId: bigint, title: string) => model.addItem({ itemId, title, categoryPath: '', attributes: {} })
  const similarToFirst = () =>
    model
      .similarTo(1n, 5)
      .filter(({ similarity }) => similarity > 0.5)
      .map(({ itemId }) => itemId)
  add(10n, 'Heat')
  expect(similarToFirst()).toContain(10n)
  add(10n, 'Unknown')
  expect(model.vectorOf(10n)).toBeUndefined()
  expect(similarToFirst()).not.toContain(10n)
  // The item gets a new key, so its old key is later given to another item.
  for (const itemId of [10n, 11n]) add(itemId, 'Heat')
  expect(similarToFirst().sort()).toEqual([10n, 11n, 2n])
  model.close()
})

test('after an item is removed from a model, another item can be added without displacing any of the other items', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, tokens: { 'title:heat': 0 } })
  const model = await openModel(folder, { mostAdded: 2 })
  const add = (itemId: bigint) => model.addItem({ itemId, title: 'Heat', categoryPath: '', attributes: {} })
  const found = () =>
    model
      .similarTo(1n, 5)
      .filter(({ similarity }) => similarity > 0.5)
      .map(({ itemId }) => itemId)
  for (const itemId of [10n, 11n]) add(itemId)
  // Removing an item that the model was trained on, or that it does not have, changes nothing.
  for (const itemId of [11n, 1n, 99n, 11n]) model.removeItem(itemId)
  expect(found().sort()).toEqual([10n, 2n])
  add(12n)
  expect(found().sort()).toEqual([10n, 12n, 2n])
  model.close()
})

test('a model whose vectors are in groups finds them in its file, reports a file that has become shorter, and closes it', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, isGrouped: true })
  const model = await openModel(folder)
  expect(model.similarTo(1n, 1)).toEqual([{ itemId: 2n, similarity: ONE }])
  expect(model.nearest(model.vectorOf(3n)!, 1)).toEqual([{ itemId: 3n, similarity: ONE }])
  truncateSync(join(folder, 'items.groups'), 100)
  expect(() => model.similarTo(1n, 1)).toThrow('bytes too early')
  model.close()
  expect(openFiles()).toEqual([])
})

test('a bundle without groups is refused if it has more vectors than may be kept in memory', async () => {
  async function open(items: number): Promise<void> {
    truncateSync(join(folder, 'items.f16'), items * DIMENSIONS * BYTES_PER_HALF)
    truncateSync(join(folder, 'items.ids'), items * BigInt64Array.BYTES_PER_ELEMENT)
    const shape: VectorShape = { format: BUNDLE_FORMAT, dimensions: DIMENSIONS, items, regularization: 0.01, greatest_length: 1 }
    const vectors = await openVectors(folder, shape)
    vectors.close()
  }
  await open(65_536)
  await expect(open(65_537)).rejects.toThrow('65537 vectors are in no group, but at most 65536 are allowed')
  expect(openFiles()).toEqual([])
})

test('a small bundle of the earlier format, which has a usearch index instead of groups, can still be used, but a large one is refused', async () => {
  unlinkSync(join(folder, 'items.groups'))
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  delete manifest.files['items.groups']
  writeFileSync(path, JSON.stringify({ ...manifest, format: 2 }))
  const model = await openModel(folder)
  expect(model.similarTo(1n, 1)).toEqual([{ itemId: 2n, similarity: ONE }])
  model.close()
  writeFileSync(path, JSON.stringify({ ...manifest, format: 2, items: 65_537 }))
  await expect(openModel(folder)).rejects.toThrow('the model has 65537 items but no groups of vectors')
})

test.each<[string, (content: Buffer) => Buffer]>([
  ['gram.f64', (content) => Buffer.alloc(content.length, Buffer.from(Float64Array.of(-1).buffer))],
  ['items.f16', (content) => Buffer.alloc(content.length, Buffer.from([0, 0x7c]))],
  ['items.groups', (content) => content.subarray(1)],
  ['trees.txt', (content) => Buffer.from(content.toString().replace('decision_type=2', 'decision_type=1'))],
])('if the file %s of a bundle cannot be used, the bundle is reported as damaged, and its files are closed', async (name, damage) => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, damage: { [name]: damage } })
  await expect(openModel(folder)).rejects.toBeInstanceOf(BundleError)
  expect(openFiles()).toEqual([])
})

/** Returns the files of the bundle that this process has open. */
function openFiles(): string[] {
  const descriptors = existsSync(OPEN_FILES) ? readdirSync(OPEN_FILES) : []
  return descriptors.map(fileOf).filter((path) => path.startsWith(folder))
}

function fileOf(descriptor: string): string {
  try {
    return readlinkSync(join(OPEN_FILES, descriptor))
  } catch {
    // The descriptor that was used for listing the folder is closed by now.
    return ''
  }
}

test('a file of factors is checked in chunks, so that other work can run in between', async () => {
  const pieces = 8
  const path = join(folder, 'factors')
  const dimensions = 64
  writeFileSync(path, '')
  truncateSync(path, pieces * CHECKED_ROWS * dimensions * BYTES_PER_HALF)
  const { result, turns } = await turnsDuring(() => openFactors(path, pieces * CHECKED_ROWS, dimensions))
  const { factors } = result
  expect(turns).toBeGreaterThanOrEqual(pieces - 1)
  const row = new Float32Array(dimensions).fill(1)
  factors.copy(5, row, 0)
  expect(row).toEqual(new Float32Array(dimensions))
  factors.close()
})

test('rows are found whichever share a place in the cache, and a row that is missing from a shortened file is reported', async () => {
  const path = join(folder, 'factors')
  const [rows, dimensions] = [60_000, 4]
  const numberOf = (row: number) => row % 1_000
  writeFileSync(
    path,
    Float16Array.from({ length: rows * dimensions }, (_, at) => numberOf(Math.floor(at / dimensions))),
  )
  const { factors } = await openFactors(path, rows, dimensions)
  const vector = new Float32Array(dimensions)
  // The first three rows share a place.
  for (const row of [5, 24_581, 49_157, 5, 59_999, 0]) {
    factors.copy(row, vector, 0)
    expect(vector[0]).toBe(numberOf(row))
    expect(factors.productWith(row, Float32Array.of(1, 0, 0, 1))).toBe(2 * numberOf(row))
  }
  truncateSync(path, 0)
  expect(factors.productWith(0, Float32Array.of(1, 0, 0, 0))).toBe(0)
  // The failed read may have overwritten row 5, which has the same place, so this row has to be read again, too.
  for (const row of [24_581, 5]) expect(() => factors.productWith(row, vector)).toThrow('bytes too early')
  factors.close()
})
