import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { seededRandom } from '../../tools/random/random.ts'
import { aliasRace } from '../api/links/alias-race.ts'
import { type LinksSystem, startLinksSystem } from '../api/links/system.ts'
import { chaosHome } from './config.ts'
import { keepLines } from './keep-logs.ts'
import { announce, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { seed, rounds } = settings
const ROUND_TIMEOUT_MS = 300_000
const CALLERS = 1_000
const WAVES = 10
/** Longest delay from the start of a wave of commands to the kill. It is so short that commands are still in flight. */
const WITHIN_MS = 500

let system: LinksSystem

beforeAll(async () => {
  announce()
  system = await startLinksSystem()
}, SETUP_TIMEOUT_MS)

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return
  const processes = { deciding: system.worker, api0: system.apis[0], api1: system.apis[1] }
  say(`logs: ${await keepLines(system.folder.path, processes, join(chaosHome(), `alias-${seed}`))}`)
})

afterAll(async () => {
  await system?.folder.finish()
}, SETUP_TIMEOUT_MS)

const VICTIMS: Readonly<Record<string, () => Promise<void>>> = {
  async worker() {
    await system.worker.kill()
    await system.worker.restart()
  },
  async api() {
    system.apis[1].child.kill('SIGKILL')
    await system.restartApi(1)
  },
  async redis() {
    await system.redis!.kill()
    await system.redis!.start()
  },
  async kafka() {
    await system.kafka.kill()
    await system.kafka.start()
  },
}

test(
  `in ${rounds} rounds of kills, exactly one of ${CALLERS} callers gets the alias`,
  async () => {
    const random = seededRandom(seed)
    const names = Object.keys(VICTIMS)
    for (let round = 1; round <= rounds; round++) {
      const race = aliasRace(system, `round${round}`)
      const killed: string[] = []
      for (let wave = 0; wave < WAVES; wave++) {
        race.enter(CALLERS / WAVES)
        await delay(random() * WITHIN_MS)
        const victim = names[Math.floor(random() * names.length)]
        killed.push(victim)
        await VICTIMS[victim]()
      }
      await race.finish()
      say(`round ${round} of ${rounds} is over; killed: ${killed.join(', ')}`)
    }
  },
  rounds * ROUND_TIMEOUT_MS,
)
