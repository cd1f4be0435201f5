import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { seededRandom } from '../../tools/random/random.ts'
import { burnRace } from '../api/snippets/burn-race.ts'
import { type SnippetStack, snippetStack } from '../api/snippets/stack.ts'
import { chaosHome } from './config.ts'
import { keepLines } from './keep-logs.ts'
import { announce, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { seed, rounds } = settings
const ROUND_TIMEOUT_MS = 300_000
/**
 * Number of reads that the snippet allows. The earlier waves of readers use most of them, and the last wave uses up the
 * rest.
 */
const READS = 95
const READERS = 100
const WAVES = 10
/** Longest delay from the start of a wave of reads to the kill. It is so short that reads are still in flight. */
const WITHIN_MS = 500

let stack: SnippetStack

beforeAll(async () => {
  announce()
  stack = await snippetStack()
}, SETUP_TIMEOUT_MS)

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return
  const processes = { worker: stack.worker, api0: stack.apis[0], api1: stack.apis[1] }
  const kept = await keepLines(stack.folder.path, processes, join(chaosHome(), `burns-${seed}`))
  say(`logs: ${kept}`)
})

afterAll(() => stack?.finish(), SETUP_TIMEOUT_MS)

const VICTIMS: Readonly<Record<string, () => Promise<void>>> = {
  async worker() {
    await stack.worker.kill()
    await stack.worker.restart()
  },
  async api() {
    stack.apis[1].child.kill('SIGKILL')
    await stack.restartApi(1)
  },
  async redis() {
    await stack.redis!.kill()
    await stack.redis!.start()
  },
  async kafka() {
    await stack.kafka.kill()
    await stack.kafka.start()
  },
}

test(
  `in ${rounds} rounds of kills, exactly ${READS} of ${READERS} readers get a snippet that allows ${READS} reads`,
  async () => {
    const random = seededRandom(seed)
    const names = Object.keys(VICTIMS)
    for (let round = 1; round <= rounds; round++) {
      const race = await burnRace(stack, `round ${round}`, READS)
      const killed: string[] = []
      for (let wave = 0; wave < WAVES; wave++) {
        race.enter(READERS / WAVES)
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
