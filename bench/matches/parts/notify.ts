import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { matchIdOf } from '../../../schemas/matches/pair.ts'
import { quantile, row } from '../../harness/table.ts'
import { httpClient } from '../../snippets/client.ts'
import { paced } from '../../snippets/pace.ts'
import type { PartInput } from '../part.ts'
import type { Pushes } from '../pushes.ts'
import { CONNECTIONS, loadRemark, middleOf } from '../rounds.ts'
import { seedSwipes } from '../seed.ts'
import { swipeLoad } from './swipe.ts'

const MUTUAL_PER_SECOND = 20
const BACKGROUND_PER_SECOND = 200
const SEED = 61
/** How long to wait for a push before it counts as missing. */
const GIVEN_UP_MS = 30_000
const POLL_MS = 50

/**
 * Measures the time from sending the second swipe of a match until a push notification arrives. The two users' push
 * notifications are measured separately.
 */
export async function measurePushes({ system, values, say }: PartInput, pushes: Pushes): Promise<void> {
  const { seconds, rounds, to } = values
  const { people, headersOf } = system
  const client = httpClient(system.api.url, CONNECTIONS)
  const background = await swipeLoad(system, client, SEED)
  await pushes.open(system.transport)
  say(
    `\n### Time from a mutual swipe to ${to === 'webhook' ? 'the request to the webhook' : 'the record of the push'}, at ${MUTUAL_PER_SECOND} mutual and ${BACKGROUND_PER_SECOND} other swipes/s, in rounds of ${seconds} s (targets: P95 < 2 s, 99.99 % within 30 s; goal: P95 < 0.5 s); ${loadRemark()}\n`,
  )
  const figures: { p50: number; p95: number; p99: number; max: number; missing: number }[] = []
  try {
    let next = 0
    for (let round = 0; round < rounds; round++) {
      const couples = Array.from({ length: MUTUAL_PER_SECOND * seconds }, () => {
        const first = people[next++ % people.length]
        return { first: first.userId, second: people[((next + people.length / 2 + round) % people.length) | 0].userId }
      })
      const ts = Date.now()
      const likes = couples.map(({ first, second }) => ({ swipe_id: randomUUID(), swiper_id: first, target_id: second }))
      await seedSwipes(
        system,
        likes.map((like) => ({ ...like, direction: 'RIGHT', ts, duration_ms: null, position: null })),
      )
      await system.untilIdle()
      const headers = await Promise.all(couples.map(({ second }) => headersOf(second)))
      const sent: { matchId: string; users: readonly string[]; at: number }[] = []
      let index = 0
      await Promise.all([
        paced(BACKGROUND_PER_SECOND, seconds, background.ask),
        paced(MUTUAL_PER_SECOND, seconds, async () => {
          const { first, second } = couples[index]
          const own = { ...headers[index++], 'content-type': 'application/json' }
          sent.push({ matchId: matchIdOf(first, second), users: [first, second], at: performance.now() })
          await client.post('/v1/swipe', [Buffer.from(JSON.stringify({ target_user_id: first, direction: 'RIGHT' }))], own)
        }),
      ])
      const times = await timesOf(pushes, sent)
      const found = times.filter((time) => time !== undefined).sort((a, b) => a - b)
      const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((share) => quantile(found, share))
      figures.push({ p50, p95, p99, max, missing: times.length - found.length })
    }
  } finally {
    await pushes.close()
    client.close()
  }
  say(row(['pushes', 'P50 ms (spread)', 'P95 ms (spread)', 'P99 ms (spread)', 'maximum ms', 'not within 30 s']))
  say(row(['--:', '--:', '--:', '--:', '--:', '--:']))
  const middles = (['p50', 'p95', 'p99'] as const).map((name) => middleOf(figures.map((one) => one[name])))
  const missing = figures.reduce((sum, one) => sum + one.missing, 0)
  say(row([2 * MUTUAL_PER_SECOND * seconds * rounds, ...middles, Math.max(...figures.map(({ max }) => max)).toFixed(0), missing]))
}

async function timesOf(
  pushes: Pushes,
  sent: readonly { matchId: string; users: readonly string[]; at: number }[],
): Promise<(number | undefined)[]> {
  const deadline = performance.now() + GIVEN_UP_MS
  const times = () =>
    sent.flatMap(({ matchId, users, at }) =>
      users.map((userId) => {
        const arrivedAt = pushes.arrivedAt(matchId, userId)
        return arrivedAt === undefined ? undefined : arrivedAt - at
      }),
    )
  while (times().includes(undefined) && performance.now() < deadline) await delay(POLL_MS)
  return times()
}
