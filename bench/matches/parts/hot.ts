import { randomUUID } from 'node:crypto'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import { swipeDraw } from '../../../tools/people/people.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { row } from '../../harness/table.ts'
import { httpClient } from '../../snippets/client.ts'
import type { PartInput } from '../part.ts'
import { CONNECTIONS, type Contender, inTurn, loadRemark, middleOf } from '../rounds.ts'
import { seedSwipes } from '../seed.ts'
import { TOPOLOGY_GROUPS } from '../system.ts'
import { swipeLoad, swipeRound } from './swipe.ts'

const SEED = 71
const WARM_UP_SECONDS = 5
const MS_PER_SECOND = 1_000

/**
 * Measures swipes that all have the same target, as a backlog and at a fixed rate. Compares them with swipes whose
 * targets are drawn by popularity.
 */
export async function measureHotTarget({ system, values, say }: PartInput): Promise<void> {
  const { people, workers } = system
  const { swipes: perSecond, seconds, rounds } = values
  const random = seededRandom(SEED)
  const draw = swipeDraw(people)
  let hot = people.length - 1

  /** Returns one swipe per user, except for users whose target would be themselves. */
  function swipesOf(isHot: boolean): SwipeEvent[] {
    const target = people[hot--]
    return people.flatMap(({ userId }) => {
      const drawn = draw(random)
      const target_id = isHot ? target.userId : drawn.target.userId
      if (target_id === userId) return []
      const ts = Date.now()
      return [{ swipe_id: randomUUID(), swiper_id: userId, target_id, direction: drawn.direction, ts, duration_ms: null, position: null }]
    })
  }

  /**
   * Writes one swipe per user while the workers are suspended, and then measures how fast the workers process them.
   * @returns two rates in swipes/s: until the topologies have processed all swipes, and until the views and tables
   * contain them as well
   */
  async function drain(isHot: boolean): Promise<{ processed: number; shown: number }> {
    const swipes = swipesOf(isHot)
    await system.untilIdle()
    for (const { pid } of workers) process.kill(pid, 'SIGSTOP')
    let startedAt: number
    try {
      await seedSwipes(system, swipes)
    } finally {
      startedAt = performance.now()
      for (const { pid } of workers) process.kill(pid, 'SIGCONT')
    }
    await system.untilIdle(TOPOLOGY_GROUPS)
    const processed = (swipes.length * MS_PER_SECOND) / (performance.now() - startedAt)
    await system.untilIdle()
    return { processed, shown: (swipes.length * MS_PER_SECOND) / (performance.now() - startedAt) }
  }

  say(`\n### All swipes go to one user, and must be processed no slower than swipes to users drawn by popularity; ${loadRemark()}\n`)
  const names = ['spread by popularity', 'all at one target'] as const
  const drained = new Map(names.map((name) => [name, [] as Awaited<ReturnType<typeof drain>>[]]))
  await drain(false)
  for (let round = 0; round < rounds; round++) for (const name of names) drained.get(name)!.push(await drain(name === names[1]))
  say(row([`backlog of ${people.length}, one swipe per user`, 'swipes/s processed (range)', 'swipes/s processed and in the views (range)']))
  say(row(['---', '--:', '--:']))
  for (const [name, found] of drained)
    say(
      row([
        name,
        middleOf(
          found.map(({ processed }) => processed),
          0,
        ),
        middleOf(
          found.map(({ shown }) => shown),
          0,
        ),
      ]),
    )
  say(`\nSwipes are sent as requests, ${perSecond} per second, in rounds of ${seconds} s:\n`)
  const client = httpClient(system.api.url, CONNECTIONS)
  const spread = await swipeLoad(system, client, SEED)
  const target = people[hot--]
  const aimed = await swipeLoad(system, client, SEED, () => target)
  const before = () => system.untilIdle()
  const contenders: Contender[] = [
    { name: names[0], before, once: () => swipeRound(system, spread, perSecond, seconds) },
    { name: names[1], before, once: () => swipeRound(system, aimed, perSecond, seconds) },
  ]
  try {
    await swipeRound(system, spread, perSecond / 2, WARM_UP_SECONDS)
    await inTurn(contenders, rounds, say)
  } finally {
    client.close()
  }
}
