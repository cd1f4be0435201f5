import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import { row } from '../../harness/table.ts'
import { seenSetCosts } from '../../seen-sets.ts'
import type { PartInput } from '../part.ts'
import { seedPeople, seedSwipes } from '../seed.ts'

/** The capacity of a user's seen-set. */
const SWIPES = 50_000
const ASKED = 5_000
const ASKED_AT_ONCE = 16
const DAY_MS = 24 * 3_600_000
/** Period over which the swipes are spread. */
const WITHIN_MS = 29 * DAY_MS

/** Measures how many bytes a swipe writes to the seen-set, and how many users a full set hides by mistake. */
export async function measureSeen({ system, folder, say }: PartInput): Promise<void> {
  say('\n### Seen-set; targets: at most 1 KB written per swipe at 50,000 items, at most 1 % false positives\n')
  say(row(['items', 'written per swipe', 'written per swipe if the whole set were rewritten', 'false positives', 'CPU µs to add']))
  say(row(['--:', '--:', '--:', '--:', '--:']))
  const backend = await openRocksdbBackend({ folder: join(folder, 'seen') })
  for (const { items, writtenBytes, setBytes, falsePositives, addMicroseconds } of seenSetCosts(backend)) {
    const share = `${(100 * falsePositives).toFixed(2)} %`
    say(row([items, `${writtenBytes.toFixed(0)} bytes`, `${setBytes} bytes`, share, addMicroseconds.toFixed(1)]))
  }
  await backend.close()
  const { people } = system
  if (people.length < SWIPES + ASKED) {
    say(`\nskipping the false positives through the API: this measurement needs ${SWIPES + ASKED} users`)
    return
  }
  // The existing users may have swiped in other parts of the benchmark, so the viewer is a new user.
  const viewer = { ...people[0], userId: randomUUID() }
  await seedPeople(system, [viewer])
  const start = Date.now() - WITHIN_MS
  const swipes: SwipeEvent[] = people.slice(0, SWIPES).map(({ userId }, index) => {
    const ts = start + Math.floor((index * WITHIN_MS) / SWIPES)
    const ids = { swipe_id: randomUUID(), swiper_id: viewer.userId, target_id: userId }
    return { ...ids, direction: 'LEFT', ts, duration_ms: null, position: null }
  })
  await system.untilIdle()
  await seedSwipes(system, swipes)
  await system.untilIdle()
  const headers = await system.headersOf(randomUUID(), 'admin')

  async function countSwiped(users: readonly string[]): Promise<number> {
    let swiped = 0
    let next = 0
    async function askInTurn(): Promise<void> {
      while (next < users.length) {
        const asked = `${system.api.url}/v1/feed/explain?user=${viewer.userId}&candidate=${users[next++]}`
        const { verdicts } = (await (await fetch(asked, { headers })).json()) as { verdicts: { filter: string; value: unknown }[] }
        if (verdicts.some(({ filter, value }) => filter === 'exclusion' && value === 'swiped')) swiped++
      }
    }
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askInTurn))
    return swiped
  }

  const unseen = people.slice(SWIPES, SWIPES + ASKED).map(({ userId }) => userId)
  const seen = people.slice(0, ASKED).map(({ userId }) => userId)
  const [wrong, right] = [await countSwiped(unseen), await countSwiped(seen)]
  say(
    `\nThrough the API (\`/v1/feed/explain\`), a user with ${SWIPES} swipes: ${wrong} of ${ASKED} users who were not swiped count as swiped (${((100 * wrong) / ASKED).toFixed(2)} %), and so do ${right} of ${ASKED} users who were swiped.`,
  )
}
