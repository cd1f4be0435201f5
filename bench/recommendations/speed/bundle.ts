import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { BUNDLE_FORMAT, MANIFEST_FILE } from '../../../api/recommendations/model/manifest.ts'
import { toolsFolder } from '../../../tools/config.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { writeManifest } from '../../../tools/recommendations/train/bundle.ts'
import { factorise, type WeightedInteractions } from '../../../tools/recommendations/train/factorise.ts'
import { generatedTrees } from './trees.ts'
import type { World } from './world.ts'

const SEED = 23
const TREES_SEED = 5
const SEQUENCE = 1
/**
 * Number of interactions per item on which the vectors are trained. One of them makes sure that each item has a vector.
 */
const INTERACTIONS_PER_ITEM = 5
const WEIGHT = 1
const MS_PER_SECOND = 1_000

export interface TrainedBundle {
  readonly folder: string
  /** Time to train the vectors and to group them; undefined if the bundle already existed. */
  readonly seconds: number | undefined
}

/**
 * Writes a bundle for a generated world into a folder, unless the folder already contains a bundle with this number of
 * items. The vectors are trained on generated interactions. Generated vectors are no substitute, because training makes
 * users and items vary in the same directions. The trees are generated.
 */
export async function trainVectors(folder: string, world: World): Promise<TrainedBundle> {
  const known = existsSync(join(folder, MANIFEST_FILE)) ? JSON.parse(await readFile(join(folder, MANIFEST_FILE), 'utf8')) : undefined
  if (known?.format === BUNDLE_FORMAT && known.items === world.items) return { folder, seconds: undefined }
  await rm(folder, { recursive: true, force: true })
  const begun = performance.now()
  const factorised = await factorise({
    folder,
    tools: toolsFolder(),
    interactions: interactionsOf(world),
    contentOf: () => undefined,
    seed: SEED,
    threads: availableParallelism(),
  })
  const seconds = (performance.now() - begun) / MS_PER_SECOND
  await writeFile(join(folder, 'trees.txt'), generatedTrees(seededRandom(TREES_SEED)))
  await writeManifest(folder, factorised, SEQUENCE, Date.now())
  return { folder, seconds }
}

/** Returns the id of an item. Ids must be positive, so they begin at 1. */
export function itemIdOf(row: number): bigint {
  return BigInt(row + 1)
}

/** Returns one interaction of a random user with each item, and further interactions with items that users choose. */
function interactionsOf(world: World): WeightedInteractions {
  const random = seededRandom(SEED)
  const count = world.items * INTERACTIONS_PER_ITEM
  const [userIds, itemIds] = [new BigInt64Array(count), new BigInt64Array(count)]
  for (let at = 0; at < count; at++) {
    const user = world.anyUser(random)
    userIds[at] = BigInt(user + 1)
    itemIds[at] = itemIdOf(at < world.items ? at : world.chosenBy(user, random))
  }
  return { userIds, itemIds, weights: new Float32Array(count).fill(WEIGHT) }
}
