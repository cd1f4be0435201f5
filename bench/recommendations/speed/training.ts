import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from '../../../tools/random/random.ts'
import { interrupted } from '../../harness/folder.ts'
import { ROOT, startProgram } from '../../harness/node-process.ts'
import { childPids, peakRssMib } from '../../harness/process-stats.ts'
import { row } from '../../harness/table.ts'
import { atRate, CONNECTIONS, loadRemark, middleOf, type Round } from '../../matches/rounds.ts'
import { httpClient } from '../../snippets/client.ts'
import type { PartInput } from './part.ts'
import type { RecommendationsSystem } from './system.ts'

/** The nice value with which workers start training runs. */
const LOWEST_PRIORITY = '19'
const PROGRAM = 'bench/recommendations/speed/training-process.ts'
const SEED = 91
const PAUSE_MS = 2_000
const MINUTE_S = 60

interface Outcome {
  readonly seconds: number
  readonly state: string
  readonly reason: string
  readonly metrics: Readonly<Record<string, number>>
}

/** Measures a training run at the lowest priority, and the latency of lists that are requested during the run. */
export async function measureTraining({ world, values, folder, say }: PartInput, system: RecommendationsSystem): Promise<void> {
  const place = join(folder, 'training')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  const sizes = [world.items, world.users, values.history].map(String)
  say(`\n### Training on ${values.history} interactions of ${world.users} users and ${world.items} items; ${loadRemark()}\n`)
  const call = ['-n', LOWEST_PRIORITY, process.execPath, join(ROOT, PROGRAM), place, ...sizes]
  const training = await startProgram('nice', call, {}, 'training_started')
  const client = httpClient(system.url, CONNECTIONS)
  const random = seededRandom(SEED)
  const ask = async () => void (await client.get(`/api/v1/recommendations?user_id=${world.anyUser(random) + 1}`, system.headers))
  const rounds: Round[] = []
  const peaks = new Map<number, number>()
  const outcomeFile = join(place, 'outcome.json')
  try {
    while (!existsSync(outcomeFile)) {
      if (!existsSync(`/proc/${training.pid}/stat`)) throw new Error('the training process ended without writing its outcome')
      // A training run may take an hour, so Ctrl-C must end it.
      rounds.push(await Promise.race([atRate(values.lists, values.seconds, ask, system.cpu), interrupted]))
      for (const pid of [training.pid, ...childPids(training.pid)]) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, peakRssMib(pid)))
      await delay(PAUSE_MS)
    }
  } finally {
    client.close()
    await training.stop()
  }
  const outcome = JSON.parse(readFileSync(outcomeFile, 'utf8')) as Outcome
  const python = [...peaks].filter(([pid]) => pid !== training.pid).map(([, mib]) => mib)
  say(row(['minutes', 'outcome', 'peak MiB of Node', 'of Python', 'lists meanwhile', 'P50 ms (spread)', 'P99 ms (spread)', 'failed']))
  say(row(['--:', '---', '--:', '--:', '--:', '--:', '--:', '--:']))
  say(
    row([
      (outcome.seconds / MINUTE_S).toFixed(1),
      outcome.reason === '' ? outcome.state : `${outcome.state}: ${outcome.reason}`,
      peaks.get(training.pid) ?? 0,
      Math.max(0, ...python),
      rounds.reduce((sum, { count }) => sum + count, 0),
      middleOf(rounds.map(({ p50 }) => p50)),
      middleOf(rounds.map(({ p99 }) => p99)),
      rounds.reduce((sum, { failures }) => sum + [...failures.values()].reduce((all, times) => all + times, 0), 0),
    ]),
  )
  say(`\nTarget: P99 < 60 ms during training. Metrics of the training run: ${JSON.stringify(outcome.metrics)}.`)
}
