import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as otherWork } from 'node:timers/promises'
import { contentTokens } from '../../../schemas/recommendations/models/content-tokens.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { openFactors } from './factors.ts'
import { foldIn } from './fold-in.ts'
import { BundleError, type BundleManifest, readManifest } from './manifest.ts'
import type { RecommendationModel } from './model.ts'
import { parseTrees } from './trees.ts'
import { newVectorIndex, type VectorIndex, viewVectorIndex } from './vector-index.ts'

/** A model with the files that it holds open. */
export interface OpenModel extends RecommendationModel {
  close(): void
}

/** For similar items, this many of the nearest by product are compared by cosine. */
const REORDERED = 4

/** So many numbers are checked in a millisecond or two. */
const CHECKED_NUMBERS = 1 << 20

/** What the vectors of a bundle need to be known before they can be opened. */
export type VectorShape = Pick<BundleManifest, 'dimensions' | 'items' | 'regularization' | 'greatest_length'>

/** The part of a model that works without trees. */
export type OpenVectors = Omit<OpenModel, 'version' | 'sequence' | 'trainedAt' | 'score'>

/**
 * Opens a bundle. Its files are checked in pieces, between which requests are answered.
 * @throws BundleError if a file is damaged, or holds something else than the manifest says
 */
export async function openModel(folder: string): Promise<OpenModel> {
  const { manifest, version } = await readManifest(folder)
  const trees = parseTrees(await readFile(join(folder, 'trees.txt'), 'utf8'), RANKING_FEATURES)
  const vectors = await openVectors(folder, manifest)
  return {
    ...vectors,
    version,
    sequence: manifest.sequence,
    trainedAt: manifest.trained_at,
    score: (features, rows) => trees.score(features, rows).map(logistic),
  }
}

/** Opens the vectors of a bundle that need not have trees or a manifest yet. @throws BundleError as `openModel` */
export async function openVectors(folder: string, shape: VectorShape): Promise<OpenVectors> {
  const at = (name: string) => join(folder, name)
  const { dimensions, items, greatest_length: greatest } = shape
  const ids = new BigInt64Array(await doublesOf(at('items.ids'), items))
  const gram = new Float64Array(await doublesOf(at('gram.f64'), dimensions * dimensions))
  const names = JSON.parse(await readFile(at('tokens.json'), 'utf8')) as string[]
  const tokens = new Map(names.map((name, row) => [name, row]))
  const tokenFactors = new Float32Array(await bytesOf(at('tokens.f32'), names.length * dimensions * Float32Array.BYTES_PER_ELEMENT))
  await checkNumbers('gram.f64', gram)
  await checkNumbers('tokens.f32', tokenFactors)
  const factors = await openFactors(at('items.f16'), items, dimensions)
  const { lengths } = factors
  const index = await indexOf(at('items.usearch'), dimensions, (key) => lengths[Number(key)] / greatest).catch((error) => {
    factors.close()
    throw error
  })
  if (index.size !== items) {
    factors.close()
    throw new BundleError(`the index holds ${index.size} of ${items} items`)
  }
  const solver = await foldIn({ gram, dimensions, regularization: shape.regularization })
  const added = new Map<bigint, Float32Array>()
  const newer = newVectorIndex(dimensions)

  const factorsOf = (itemId: bigint): Float32Array | undefined => {
    const row = rowOf(ids, itemId)
    return row < 0 ? added.get(itemId) : factors.row(row)
  }

  function nearest(vector: Float32Array, count: number): { itemId: bigint; similarity: number }[] {
    const found = index.search(vector, count).map(({ key, product }) => ({ itemId: ids[Number(key)], similarity: product }))
    const fresh = newer.search(vector, count).map(({ key, product }) => ({ itemId: BigInt.asIntN(64, key), similarity: product }))
    if (fresh.length === 0) return found
    return [...found, ...fresh].sort((a, b) => b.similarity - a.similarity).slice(0, count)
  }

  function vectorOf(itemId: bigint): Float32Array | undefined {
    const known = factorsOf(itemId)
    return known && unit(known)
  }

  return {
    foldIn(history) {
      const known = history.flatMap(({ itemId, weight }) => {
        const itemFactors = factorsOf(itemId)
        return itemFactors === undefined ? [] : [{ factors: itemFactors, weight }]
      })
      const solution = solver.solve(known)
      return solution && unit(solution)
    },
    nearest,
    similarTo(itemId, count) {
      const vector = vectorOf(itemId)
      if (vector === undefined) return []
      const near = nearest(vector, REORDERED * (count + 1)).filter((one) => one.itemId !== itemId)
      const compared = near.map((one) => ({ itemId: one.itemId, similarity: dot(vector, vectorOf(one.itemId) ?? vector) }))
      return compared.sort((a, b) => b.similarity - a.similarity).slice(0, count)
    },
    productWith(vector, itemId) {
      const known = factorsOf(itemId)
      return known && dot(vector, known) / greatest
    },
    vectorOf,
    addItem(item) {
      if (rowOf(ids, item.itemId) >= 0 || added.has(item.itemId)) return
      const known = contentTokens(item).flatMap((token) => tokens.get(token) ?? [])
      if (known.length === 0) return
      const sum = new Float32Array(dimensions)
      for (const row of known) for (let i = 0; i < dimensions; i++) sum[i] += tokenFactors[row * dimensions + i]
      const length = Math.sqrt(dot(sum, sum))
      if (length === 0) return
      // No new item may be longer than every trained one.
      const scale = Math.min(1, greatest / length)
      added.set(
        item.itemId,
        sum.map((value) => value * scale),
      )
      newer.add(
        BigInt.asUintN(64, item.itemId),
        sum.map((value) => (value * scale) / greatest),
      )
    },
    close: () => factors.close(),
  }
}

function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value))
}

function unit(vector: ArrayLike<number>): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1
  const scaled = new Float32Array(vector.length)
  for (let at = 0; at < vector.length; at++) scaled[at] = vector[at] / length
  return scaled
}

function dot(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at]
  return sum
}

/** Finds an id in ascending ids; -1 if it is not there. */
function rowOf(ids: BigInt64Array, itemId: bigint): number {
  let low = 0
  let high = ids.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    if (ids[middle] === itemId) return middle
    if (ids[middle] < itemId) low = middle + 1
    else high = middle - 1
  }
  return -1
}

function doublesOf(path: string, count: number): Promise<ArrayBuffer> {
  return bytesOf(path, count * Float64Array.BYTES_PER_ELEMENT)
}

async function bytesOf(path: string, bytes: number): Promise<ArrayBuffer> {
  const read = await readFile(path)
  if (read.length !== bytes) throw new BundleError(`${path} has ${read.length} bytes instead of ${bytes}`)
  return new Uint8Array(read).buffer
}

async function checkNumbers(name: string, values: Float32Array | Float64Array): Promise<void> {
  for (let start = 0; start < values.length; start += CHECKED_NUMBERS) {
    for (const value of values.subarray(start, start + CHECKED_NUMBERS)) {
      if (!Number.isFinite(value)) throw new BundleError(`${name} holds ${value}`)
    }
    await otherWork()
  }
}

async function indexOf(path: string, dimensions: number, lengthOf: (key: bigint) => number): Promise<VectorIndex> {
  try {
    return viewVectorIndex(path, dimensions, lengthOf)
  } catch (cause) {
    // A file that has vanished is fetched again; the library does not distinguish it from one that it cannot read.
    await stat(path)
    throw new BundleError('the index cannot be read', { cause })
  }
}
