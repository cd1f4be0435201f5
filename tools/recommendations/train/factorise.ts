import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import type { ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import { confidenceOf } from '../../../schemas/recommendations/ranking/confidence.ts'
import { type PythonPlace, runPython } from '../python/run.ts'
import { itemTokens } from './item-tokens.ts'
import { writeGroups } from './write-groups.ts'

/** Interactions in columns of equal length. */
export interface WeightedInteractions {
  readonly userIds: BigInt64Array
  readonly itemIds: BigInt64Array
  readonly weights: Float32Array
}

export interface Factorisation extends PythonPlace {
  /** An empty or missing folder. It receives the files of the bundle. */
  readonly folder: string
  readonly interactions: WeightedInteractions
  readonly contentOf: (itemId: bigint) => ItemContent | undefined
  readonly seed: number
  readonly signal?: AbortSignal
  /** Number of threads. The default is 1, so that on a machine with two cores, one core stays free for requests. */
  readonly threads?: number
}

export interface Factorised {
  readonly items: number
  readonly regularization: number
  readonly greatestLength: number
}

/** Strength of the regularization. Regularization keeps the vectors of items with few interactions short. */
const REGULARIZATION = 0.5
const ITERATIONS = 12

/** Trains item factors on interactions, and writes all files of a bundle except the trees and the manifest. */
export async function factorise({
  folder,
  tools,
  python,
  interactions,
  contentOf,
  seed,
  signal,
  threads = 1,
}: Factorisation): Promise<Factorised> {
  await mkdir(folder, { recursive: true })
  const { userIds, itemIds, weights } = interactions
  const ids = BigInt64Array.from(new Set(itemIds)).sort()
  const rows = numbered(ids)
  const users = numbered(new Set(userIds))
  const write = (name: string, data: NodeJS.ArrayBufferView | string) => writeFile(join(folder, name), data)
  await write('items.ids', ids)
  await write('users.u32', numbersOf(userIds, users))
  await write('rows.u32', numbersOf(itemIds, rows))
  await write('confidences.f32', weights.map(confidenceOf))
  const tokens = itemTokens(ids, contentOf)
  await write('tokens.json', JSON.stringify(tokens.names))
  await write('token-ids.u32', tokens.numbers)
  await write('token-starts.u32', tokens.starts)
  const sizes = { items: ids.length, users: users.size, tokens: tokens.names.length, dimensions: DIMENSIONS }
  const job = { folder, ...sizes, regularization: REGULARIZATION, iterations: ITERATIONS, threads, seed }
  await runPython({ program: 'factorise', job, tools, python, signal })
  const found = JSON.parse(await readFile(join(folder, 'factorised.json'), 'utf8')) as { greatest_length: number }
  writeGroups({ folder, items: ids.length, greatestLength: found.greatest_length })
  return { items: ids.length, regularization: REGULARIZATION, greatestLength: found.greatest_length }
}

function numbered(ids: Iterable<bigint>): Map<bigint, number> {
  const numbers = new Map<bigint, number>()
  for (const id of ids) numbers.set(id, numbers.size)
  return numbers
}

function numbersOf(ids: BigInt64Array, numbers: ReadonlyMap<bigint, number>): Uint32Array {
  return Uint32Array.from(ids, (id) => numbers.get(id) as number)
}
