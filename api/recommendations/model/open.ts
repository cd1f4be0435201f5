import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as otherWork } from 'node:timers/promises'
import { contentTokens, type ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import { confidenceOf } from '../../../schemas/recommendations/ranking/confidence.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { openFactors } from './factors.ts'
import { foldIn } from './fold-in.ts'
import { openGroupFile } from './group-file.ts'
import { BundleError, type BundleManifest, GROUPS_FILE, hasGroups, MOST_WHOLE, readManifest } from './manifest.ts'
import type { NearItem, RecommendationModel } from './model.ts'
import { MOST_NEWER_ITEMS } from './newer-items.ts'
import { parseTrees } from './trees.ts'
import { type NearBy, newVectorIndex } from './vector-index.ts'
import { vectorSearch } from './vector-search.ts'

/** A model with its open files. */
export interface OpenModel extends RecommendationModel {
  /** Closes the files. */
  close(): void
}

export interface OpenOptions {
  /**
   * Maximum number of items whose vectors are computed from their content. Each further item replaces another item,
   * usually the one that was added first. The limit only bounds the memory, because `newer-items.ts` chooses which
   * items are kept.
   */
  readonly mostAdded?: number
}

/** Initial capacity for the factors of a user's items, in rows. */
const FOLDED_ROWS = 128

/** Marks a key without an item. The value cannot be an id, because ids are positive. */
const NO_ITEM = 0n

/** Number of values checked between two pauses. Checking them takes a millisecond or two. */
const CHECKED_NUMBERS = 1 << 20

/** The properties of a bundle that are needed to open its vectors. */
export type VectorShape = Pick<BundleManifest, 'format' | 'dimensions' | 'items' | 'regularization' | 'greatest_length'>

/** An open model without its trees and without the properties that only its manifest has. */
export type OpenVectors = Omit<OpenModel, 'version' | 'sequence' | 'trainedAt' | 'score'>

/**
 * Opens a bundle. Its files are checked in pieces, and the process serves requests between the pieces.
 * @throws BundleError if a file is damaged, or its contents differ from the manifest
 */
export async function openModel(folder: string, options: OpenOptions = {}): Promise<OpenModel> {
  const { manifest, version } = await readManifest(folder)
  const trees = parseTrees(await readFile(join(folder, 'trees.txt'), 'utf8'), RANKING_FEATURES)
  const vectors = await openVectors(folder, manifest, options)
  return {
    ...vectors,
    version,
    sequence: manifest.sequence,
    trainedAt: manifest.trained_at,
    score: (features, rows) => trees.score(features, rows).map(logistic),
  }
}

/**
 * Opens the vectors of a bundle. The bundle need not have trees or a manifest yet.
 * @throws BundleError for the same reasons as `openModel`
 */
export async function openVectors(
  folder: string,
  shape: VectorShape,
  { mostAdded = MOST_NEWER_ITEMS }: OpenOptions = {},
): Promise<OpenVectors> {
  const at = (name: string) => join(folder, name)
  const { dimensions, items, greatest_length: greatest } = shape
  const ids = new BigInt64Array(await doublesOf(at('items.ids'), items))
  const gram = new Float64Array(await doublesOf(at('gram.f64'), dimensions * dimensions))
  const names = JSON.parse(await readFile(at('tokens.json'), 'utf8')) as string[]
  const tokens = new Map(names.map((name, row) => [name, row]))
  const tokenFactors = new Float32Array(await bytesOf(at('tokens.f32'), names.length * dimensions * Float32Array.BYTES_PER_ELEMENT))
  await checkNumbers('gram.f64', gram)
  await checkNumbers('tokens.f32', tokenFactors)
  const { factors, lengths } = await openFactors(at('items.f16'), items, dimensions)
  for (let row = 0; row < items; row++) lengths[row] /= greatest
  const { groups, trained, solver } = await searched().catch((error) => {
    factors.close()
    throw error
  })
  const rowOf = rowsOf(ids)
  /**
   * Factors of items that the model was not trained on, computed from their content. The keys in the index `newer` are
   * positions in `addedIds`.
   */
  const added = new Map<bigint, { readonly key: number; readonly factors: Float32Array }>()
  const addedIds: bigint[] = []
  const newer = newVectorIndex(dimensions)
  /** Number of keys that this counter has assigned. Other items got the key of a removed item. */
  let additions = 0
  /** Keys of items that were removed. The next items get these keys. */
  const free: number[] = []
  /** The factors of a user's items, row by row. */
  let folded = new Float32Array(FOLDED_ROWS * dimensions)

  async function searched() {
    const solver = await foldIn({ gram, dimensions, regularization: shape.regularization }).catch((cause: Error) => {
      throw new BundleError(`gram.f64: ${cause.message}`, { cause })
    })
    const groups = hasGroups(shape) ? await openGroupFile(at(GROUPS_FILE), dimensions, items) : undefined
    try {
      const ungrouped = items - (groups?.rows.length ?? 0)
      if (ungrouped > MOST_WHOLE) throw new BundleError(`${ungrouped} vectors are in no group, but at most ${MOST_WHOLE} are allowed`)
      return { groups, trained: await vectorSearch({ factors, dimensions, lengths, greatest, groups }), solver }
    } catch (error) {
      groups?.close()
      throw error
    }
  }

  /** Writes the factors of an item to `out`. Returns false if the model has no factors for the item. */
  function copyFactors(itemId: bigint, out: Float32Array, start: number): boolean {
    const row = rowOf(itemId)
    if (row >= 0) {
      factors.copy(row, out, start)
      return true
    }
    const own = added.get(itemId)
    if (own !== undefined) out.set(own.factors, start)
    return own !== undefined
  }

  /**
   * Computes factors from the content of an item; undefined if the model has factors for none of the content's tokens.
   */
  function factorsOf(content: ItemContent): Float32Array | undefined {
    const known = contentTokens(content).flatMap((token) => tokens.get(token) ?? [])
    const sum = new Float32Array(dimensions)
    for (const row of known) for (let i = 0; i < dimensions; i++) sum[i] += tokenFactors[row * dimensions + i]
    const length = Math.sqrt(dot(sum, sum))
    if (length === 0) return undefined
    // The factors of a new item must not be longer than the longest factors of a trained item.
    const scale = Math.min(1, greatest / length)
    return sum.map((value) => value * scale)
  }

  /** Removes an item if it was added after training. */
  function removeItem(itemId: bigint): void {
    const known = added.get(itemId)
    if (known === undefined) return
    forget(known.key)
    free.push(known.key)
  }

  /** Removes the added item that has this key, if there is one. */
  function forget(key: number): void {
    if (!added.delete(addedIds[key])) return
    newer.remove(key)
    addedIds[key] = NO_ITEM
  }

  function nearest(vector: Float32Array, count: number, by: NearBy): NearItem[] {
    const fresh = newer.search(vector, count, by).map(({ key, value }) => ({ itemId: addedIds[key], similarity: value }))
    const found = trained.search(vector, count, by).map(({ key, value }) => ({ itemId: ids[key], similarity: value }))
    if (fresh.length === 0) return found
    return [...found, ...fresh].sort((a, b) => b.similarity - a.similarity).slice(0, count)
  }

  function vectorOf(itemId: bigint): Float32Array | undefined {
    const known = new Float32Array(dimensions)
    return copyFactors(itemId, known, 0) ? unit(known) : undefined
  }

  return {
    foldIn(history) {
      if (folded.length < history.length * dimensions) folded = new Float32Array(history.length * dimensions)
      // As in training, the confidences of all interactions with an item are added up. If each interaction had a row of
      // its own, several negative interactions with the same item could make the system indefinite, and its solution
      // arbitrary.
      const confidences: number[] = []
      const places = new Map<bigint, number>()
      for (const { itemId, weight } of history) {
        const place = places.get(itemId)
        if (place !== undefined) confidences[place] += confidenceOf(weight)
        else if (copyFactors(itemId, folded, confidences.length * dimensions)) {
          places.set(itemId, confidences.length)
          confidences.push(confidenceOf(weight))
        }
      }
      const solution = solver.solve(folded, confidences)
      return solution && unit(solution)
    },
    nearest: (vector, count) => nearest(vector, count, 'product'),
    similarTo(itemId, count) {
      const vector = vectorOf(itemId)
      if (vector === undefined) return []
      return nearest(vector, count + 1, 'cosine')
        .filter((one) => one.itemId !== itemId)
        .slice(0, count)
    },
    productWith(vector, itemId) {
      const row = rowOf(itemId)
      if (row >= 0) return factors.productWith(row, vector) / greatest
      const own = added.get(itemId)
      return own && dot(vector, own.factors) / greatest
    },
    vectorOf,
    addItem(item) {
      const { itemId } = item
      if (rowOf(itemId) >= 0) return
      const factors = factorsOf(item)
      const before = added.get(itemId)
      if (factors === undefined) {
        removeItem(itemId)
        return
      }
      if (before?.factors.every((value, at) => value === factors[at])) return
      const key = before?.key ?? free.pop() ?? additions++ % mostAdded
      if (key < addedIds.length) forget(key)
      addedIds[key] = itemId
      added.set(itemId, { key, factors })
      newer.add(
        key,
        factors.map((value) => value / greatest),
      )
    },
    removeItem,
    close() {
      groups?.close()
      factors.close()
    },
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

/** Returns a function that finds the position of an id in a sorted array; -1 if the id is missing. */
function rowsOf(ids: BigInt64Array): (itemId: bigint) => number {
  // Compares 32-bit halves, because each access to an element of `ids` would create a bigint, which takes far longer.
  const low = new Uint32Array(ids.buffer)
  const high = new Int32Array(ids.buffer)
  const wanted = new BigInt64Array(1)
  const wantedLow = new Uint32Array(wanted.buffer)
  const wantedHigh = new Int32Array(wanted.buffer)
  return function rowOf(itemId) {
    wanted[0] = itemId
    const [first, second] = [wantedHigh[1], wantedLow[0]]
    let from = 0
    let to = ids.length - 1
    while (from <= to) {
      const middle = (from + to) >> 1
      const order = high[2 * middle + 1] - first || low[2 * middle] - second
      if (order === 0) return middle
      if (order < 0) from = middle + 1
      else to = middle - 1
    }
    return -1
  }
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
      if (!Number.isFinite(value)) throw new BundleError(`${name} contains ${value}, which is not a finite number`)
    }
    await otherWork()
  }
}
