import { setTimeout as delay } from 'node:timers/promises'
import { integer, type Random } from '../../../tools/random/random.ts'
import type { Client } from '../../snippets/client.ts'
import { itemIdOf } from './bundle.ts'
import type { RecommendationsSystem } from './system.ts'
import type { World } from './world.ts'

/** Measured times from an event until a list reflected it. */
export interface Freshness {
  readonly ms: readonly number[]
  /** Number of events that the API did not accept, or that no list reflected within the time limit. */
  readonly missing: number
}

export interface FreshnessOptions {
  readonly world: World
  readonly system: Pick<RecommendationsSystem, 'headers'>
  readonly client: Client
  readonly seconds: number
  readonly random: Random
}

/**
 * Number of probes that start per second. Each probe requests up to ten lists per second until a list reflects its
 * event. These requests are in addition to the measured requests.
 */
const PER_SECOND = 2
const ASK_EVERY_MS = 100
const GIVE_UP_MS = 10_000
const MOST_PROBED = 1e9
const MS_PER_SECOND = 1_000
/** The offset of the newest event that a list takes into account. It is -1 if there is none. */
const HAS_OFFSET = /"features_offset":\d/

/**
 * Posts single events at intervals. After each event, requests lists until one takes the event into account. Whether
 * the list shows this depends on the item: one that is similar to few others may be the source of no listed item.
 */
export async function freshnessProbe({ world, system, client, seconds, random }: FreshnessOptions): Promise<Freshness> {
  const ms: number[] = []
  let missing = 0

  async function follow(): Promise<void> {
    // Each event is the first one of its user, so the features of this user have no offset before it.
    const user = world.users + 1 + integer(random, MOST_PROBED)
    const item = String(itemIdOf(integer(random, world.items)))
    const body = { user_id: String(user), item_id: item, event_type: 'VIEW' }
    const begun = performance.now()
    const headers = { ...system.headers, 'content-type': 'application/json' }
    const isTaken = await client.post('/api/v1/events', [Buffer.from(JSON.stringify(body))], headers).then(
      () => true,
      () => false,
    )
    while (isTaken && performance.now() - begun < GIVE_UP_MS) {
      // A failed request counts as a list that does not show the event yet.
      const head = await client.get(`/api/v1/recommendations?user_id=${user}&limit=1&explain=true`, system.headers).then(
        (arrived) => arrived.head,
        () => '',
      )
      if (HAS_OFFSET.test(head)) {
        ms.push(performance.now() - begun)
        return
      }
      await delay(ASK_EVERY_MS)
    }
    missing++
  }

  const running: Promise<void>[] = []
  for (let probe = 0; probe < seconds * PER_SECOND; probe++) {
    running.push(follow())
    await delay(MS_PER_SECOND / PER_SECOND)
  }
  await Promise.all(running)
  return { ms, missing }
}
