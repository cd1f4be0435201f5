import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toFloats } from '../../../api/recommendations/model/half-floats.ts'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { newVectorIndex } from '../../../api/recommendations/model/vector-index.ts'
import { contentTokens, type ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import { confidenceOf } from '../../../schemas/recommendations/ranking/confidence.ts'
import { runPython } from '../python/run.ts'

export interface WeightedInteraction {
  readonly userId: bigint
  readonly itemId: bigint
  readonly weight: number
}

export interface Factorisation {
  /** An empty or missing folder, which receives the files of the bundle. */
  readonly folder: string
  /** The folder that holds downloaded tools. */
  readonly tools: string
  readonly interactions: Iterable<WeightedInteraction>
  readonly contentOf: (itemId: bigint) => ItemContent | undefined
  readonly seed: number
  readonly signal?: AbortSignal
}

export interface Factorised {
  readonly items: number
  readonly regularization: number
  readonly greatestLength: number
}

/** Strong enough that an item of few interactions stays short. */
const REGULARIZATION = 0.5
const ITERATIONS = 12
/** Training must leave the other core to answers. */
const THREADS = 1

/** Trains item factors on interactions, and writes all files of a bundle but the trees. */
export async function factorise({ folder, tools, interactions, contentOf, seed, signal }: Factorisation): Promise<Factorised> {
  await mkdir(folder, { recursive: true })
  const told = [...interactions]
  const ids = BigInt64Array.from(new Set(told.map(({ itemId }) => itemId))).sort()
  const rows = new Map(Array.from(ids, (id, row) => [id, row]))
  const users = new Map<bigint, number>()
  for (const { userId } of told) if (!users.has(userId)) users.set(userId, users.size)
  const write = (name: string, data: NodeJS.ArrayBufferView | string) => writeFile(join(folder, name), data)
  await write('items.ids', ids)
  await write(
    'users.u32',
    Uint32Array.from(told, ({ userId }) => users.get(userId)!),
  )
  await write(
    'rows.u32',
    Uint32Array.from(told, ({ itemId }) => rows.get(itemId)!),
  )
  await write(
    'confidences.f32',
    Float32Array.from(told, ({ weight }) => confidenceOf(weight)),
  )
  const tokens = new Map<string, number>()
  const tokenIds: number[] = []
  const starts = [0]
  for (const id of ids) {
    const content = contentOf(id)
    for (const token of content === undefined ? [] : contentTokens(content)) {
      if (!tokens.has(token)) tokens.set(token, tokens.size)
      tokenIds.push(tokens.get(token)!)
    }
    starts.push(tokenIds.length)
  }
  if (tokens.size === 0) tokens.set('none', 0)
  await write('tokens.json', JSON.stringify([...tokens.keys()]))
  await write('token-ids.u32', Uint32Array.from(tokenIds))
  await write('token-starts.u32', Uint32Array.from(starts))
  const sizes = { items: ids.length, users: users.size, tokens: tokens.size, dimensions: DIMENSIONS }
  const job = { folder, ...sizes, regularization: REGULARIZATION, iterations: ITERATIONS, threads: THREADS, seed }
  await runPython({ program: 'factorise', job, tools, signal })
  const found = JSON.parse(await readFile(join(folder, 'factorised.json'), 'utf8')) as { greatest_length: number }
  await buildIndex(folder, ids.length, found.greatest_length)
  return { items: ids.length, regularization: REGULARIZATION, greatestLength: found.greatest_length }
}

async function buildIndex(folder: string, items: number, greatest: number): Promise<void> {
  const bytes = await readFile(join(folder, 'items.f16'))
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, items * DIMENSIONS)
  const index = newVectorIndex(DIMENSIONS)
  const vector = new Float32Array(DIMENSIONS)
  for (let row = 0; row < items; row++) {
    toFloats(halves, row * DIMENSIONS, vector)
    index.add(
      BigInt(row),
      vector.map((value) => value / greatest),
    )
  }
  index.save(join(folder, 'items.usearch'))
}
