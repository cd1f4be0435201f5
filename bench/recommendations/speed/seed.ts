import { join } from 'node:path'
import { BUNDLE_FILES, type BundleManifest, digestOf, MANIFEST_FILE, readManifest } from '../../../api/recommendations/model/manifest.ts'
import { MODELS_KEY, recommendationModels } from '../../../schemas/recommendations/models/topics.ts'
import { editorialLists, interactions, items } from '../../../schemas/recommendations/topics.ts'
import type { Interaction, ModelVersion } from '../../../schemas/recommendations/types.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { type SeedTarget, sendAll } from '../../matches/seed.ts'
import { itemIdOf } from './bundle.ts'
import { itemOf } from './items.ts'
import type { World } from './world.ts'

const SEED = 51
/** Period over which past interactions are spread evenly. It ends at the current time. */
const PAST_MS = 20 * 24 * 3_600_000
const EDITORIAL = 50

/** Returns the id of a user. Ids must be positive, so they begin at 1. */
export function userIdOf(user: number): bigint {
  return BigInt(user + 1)
}

/** Writes all items, and an editorial list. */
export async function seedItems(target: SeedTarget, world: World): Promise<void> {
  const now = Date.now()
  await sendAll(target, items, numbersBelow(world.items), (row) => [itemIdOf(row), itemOf(world, row, now), now])
  const list = {
    kind: 'LIST' as const,
    item_ids: Array.from({ length: EDITORIAL }, (_, place) => itemIdOf(Math.floor((place * world.items) / EDITORIAL))),
    contexts: [],
    factor: null,
    max_age_days: null,
    starts_at: null,
    ends_at: null,
    updated_at: now,
  }
  await sendAll(target, editorialLists, [list], (value) => ['bench', value, now])
}

/**
 * Writes the past interactions of users, in chronological order.
 * @param most maximum number of interactions; if it is less than the total, the longest histories are truncated
 * @returns the number of interactions
 */
export async function seedInteractions(target: SeedTarget, world: World, most = Number.POSITIVE_INFINITY): Promise<number> {
  const now = Date.now()
  let total = 0
  for (let user = 0; user < world.users; user++) total += world.interactionsOf(user)
  total = Math.min(total, most)
  let sent = 0
  await sendAll(target, interactions, pastOf(world, most), ({ user, row }) => {
    // Timestamps increase with the order of records. If successive records belonged to different days, each record
    // would become a separate small insert into ClickHouse.
    const at = now - Math.round((1 - sent / total) * PAST_MS)
    // The timestamp of the log record is the current time, so that Kafka does not delete records of old events.
    return [userIdOf(user), viewOf(itemIdOf(row), `past-${sent++}`, at), now]
  })
  return sent
}

function* pastOf(world: World, most: number) {
  const random = seededRandom(SEED)
  let left = most
  for (let round = 0; left > 0; round++) {
    let isOver = true
    for (let user = 0; user < world.users && left > 0; user++) {
      if (world.interactionsOf(user) <= round) continue
      isOver = false
      left--
      yield { user, row: world.chosenBy(user, random) }
    }
    if (isOver) return
  }
}

function viewOf(item_id: bigint, event_id: string, timestamp: number): Interaction {
  const unknown = { page: null, position: null, rec_request_id: null, device: null, session_id: null, dwell_time_sec: null, rating: null }
  return { event_id, item_id, event_type: 'VIEW', withdrawn: false, timestamp, watch_pct: 1, ...unknown }
}

/**
 * Puts the model of the bundle in force. Writes only its record and stores no files, so each host must have the files
 * in its folder of model versions.
 */
export async function seedModel(target: SeedTarget, bundle: string): Promise<ModelVersion> {
  const { version, manifest } = await readManifest(bundle)
  const named = await versionOf(bundle, version, manifest)
  const history = { versions: [named], champion: version, challenger: null, challenger_percent: 0, earlier: [], changed_at: Date.now() }
  await sendAll(target, recommendationModels, [history], (value) => [MODELS_KEY, value, Date.now()])
  return named
}

async function versionOf(bundle: string, version: string, manifest: BundleManifest): Promise<ModelVersion> {
  const { bytes, sha256 } = await digestOf(join(bundle, MANIFEST_FILE))
  const files = BUNDLE_FILES.map((name) => ({ name, hash: manifest.files[name].sha256, bytes: manifest.files[name].bytes }))
  const { sequence, trained_at } = manifest
  return {
    version,
    sequence,
    trained_at,
    learned_until: trained_at,
    files: [...files, { name: MANIFEST_FILE, hash: sha256, bytes }],
    metrics: {},
  }
}

function* numbersBelow(count: number): Generator<number> {
  for (let number = 0; number < count; number++) yield number
}
