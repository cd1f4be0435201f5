import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { contentTokens } from '../../../schemas/recommendations/models/content-tokens.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { openFactors } from './factors.ts'
import { foldIn } from './fold-in.ts'
import { BundleError, readManifest } from './manifest.ts'
import type { RecommendationModel } from './model.ts'
import { parseTrees } from './trees.ts'
import { newVectorIndex, viewVectorIndex } from './vector-index.ts'

/** A model with the files that it holds open. */
export interface OpenModel extends RecommendationModel {
  close(): void
}

/** So many of the nearest by product are compared by cosine for similar items. */
const REORDERED = 4

/**
 * Opens a bundle. Its files must stay until the model is closed.
 * @throws BundleError if a file is damaged, or holds something else than the manifest says
 */
export async function openModel(folder: string): Promise<OpenModel> {
  const at = (name: string) => join(folder, name)
  const { manifest, version } = await readManifest(folder)
  const { dimensions, items, greatest_length: greatest } = manifest
  const ids = new BigInt64Array(await doublesOf(at('items.ids'), items))
  const gram = new Float64Array(await doublesOf(at('gram.f64'), dimensions * dimensions))
  const names = JSON.parse(await readFile(at('tokens.json'), 'utf8')) as string[]
  const tokens = new Map(names.map((name, row) => [name, row]))
  const tokenFactors = new Float32Array(await bytesOf(at('tokens.f32'), names.length * dimensions * Float32Array.BYTES_PER_ELEMENT))
  checkNumbers('gram.f64', gram)
  checkNumbers('tokens.f32', tokenFactors)
  const trees = parseTrees(await readFile(at('trees.txt'), 'utf8'), RANKING_FEATURES)
  const index = viewVectorIndex(at('items.usearch'), dimensions)
  if (index.size !== items) throw new BundleError(`the index holds ${index.size} of ${items} items`)
  const factors = openFactors(at('items.f16'), items, dimensions)
  const solver = foldIn({ gram, dimensions, regularization: manifest.regularization })
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
    version,
    sequence: manifest.sequence,
    trainedAt: manifest.trained_at,
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
    score: (features, rows) => trees.score(features, rows).map(logistic),
    close: () => factors.close(),
  }
}

function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value))
}

function unit(vector: ArrayLike<number>): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1
  return Float32Array.from(vector, (value) => value / length)
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
  return Uint8Array.from(read).buffer
}

function checkNumbers(name: string, values: Float32Array | Float64Array): void {
  for (const value of values) if (!Number.isFinite(value)) throw new BundleError(`${name} holds ${value}`)
}
