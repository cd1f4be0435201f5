/**
 * Trains on generated interactions in the same way as the training program trains on exported ones. Prints a line when
 * training begins, and writes the outcome to `outcome.json`. Arguments: an empty folder, and the numbers of items,
 * users and interactions.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toolsFolder } from '../../../tools/config.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { type History, historyBuilder } from '../../../tools/recommendations/history/history.ts'
import { trainVersion } from '../../../tools/recommendations/train/train-version.ts'
import { itemIdOf } from './bundle.ts'
import { itemOf } from './items.ts'
import { userIdOf } from './seed.ts'
import { makeWorld, type World } from './world.ts'

const SEED = 81
const PAST_MS = 20 * 24 * 3_600_000
const MS_PER_SECOND = 1_000

const [folder, ...sizes] = process.argv.slice(2)
const [items, users, interactions] = sizes.map(Number)
const now = Date.now()
const world = makeWorld(items, users)
const history = historyOf(world, interactions)
const catalogue = {
  items: new Map(Array.from({ length: items }, (_, row) => [itemIdOf(row), itemOf(world, row, now)] as const)),
  users: new Map(),
  preferences: new Map(),
  editorial: new Map(),
}
process.stdout.write(`${JSON.stringify({ event: 'training_started' })}\n`)
const begun = performance.now()
const outcome = await trainVersion({
  folder,
  tools: toolsFolder(),
  history,
  catalogue,
  shown: [],
  inForce: undefined,
  servedLists: async () => [],
  sequence: 1,
  trainedAt: now,
  seed: SEED,
})
const seconds = (performance.now() - begun) / MS_PER_SECOND
await writeFile(
  join(folder, 'outcome.json'),
  JSON.stringify({ seconds, state: outcome.state, reason: outcome.reason, metrics: outcome.metrics }),
)

/** Returns a generated history. Users with more past interactions are drawn more often. */
function historyOf({ anyUser, chosenBy }: World, count: number): History {
  const random = seededRandom(SEED)
  const builder = historyBuilder()
  const told = { event_type: 'VIEW', rating: null, watch_pct: 1, dwell_time_sec: null, withdrawn: false, rec_request_id: null } as const
  for (let index = 0; index < count; index++) {
    const user = anyUser(random)
    const timestamp = now - PAST_MS + Math.floor((index * PAST_MS) / count)
    builder.add(userIdOf(user), { item_id: itemIdOf(chosenBy(user, random)), timestamp, ...told })
  }
  return builder.build()
}
