import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import type { ModelOutcome } from '../../../api/fraud/in-force.ts'
import { openModels } from '../../../api/fraud/models/open.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import type { ModelInput } from '../../../schemas/fraud/models/inputs.ts'
import { ruledTraffic } from '../../../tools/fraud/patterns/judge.ts'
import { generateTraffic } from '../../../tools/fraud/patterns/traffic.ts'
import { cpuSeconds, machineLoad, peakRssMib } from '../../harness/process-stats.ts'
import { quantile, row } from '../../harness/table.ts'

export interface ModelLoad {
  readonly perSecond: number
  readonly seconds: number
}

const TRAFFIC = { seed: 8, people: 60, days: 12, occurrences: 1 }
const SETTINGS = { models: { champion: {}, challenger: undefined }, policy: DEFAULT_POLICY }
const WARM_UP_SECONDS = 2
const STARTS_WITHIN_MS = 60_000
const MS_PER_SECOND = 1_000
const PROCESS = 'models/process/main.ts'

/**
 * Results of a load. Latencies are in ms and measured from the planned time of a score, so that a stall of the process
 * is included.
 */
interface Scored {
  readonly latencies: readonly number[]
  /** Number of scores that were late or never arrived. */
  readonly unscored: number
}

/** Measures how fast the model process scores with the three shipped models. No servers are needed. */
export async function measureModels({ perSecond, seconds }: ModelLoad, say: (text: string) => void): Promise<void> {
  const inputs = [...ruledTraffic(generateTraffic(TRAFFIC))].map(({ input }) => input)
  const registry = new Registry()
  const start = performance.now()
  const models = openModels({ settings: SETTINGS, modelsDir: undefined, log: createLogger('silent'), registry })
  try {
    await untilScored(() => models.score(inputs[0]))
    const startMs = performance.now() - start
    const pid = modelProcess()
    const score = (input: ModelInput) => models.score(input)
    await scoreAt(perSecond, WARM_UP_SECONDS, inputs, score)
    registry.resetMetrics()
    const [cpu, ownCpu] = [cpuSeconds(pid), process.cpuUsage()]
    const { latencies, unscored } = await scoreAt(perSecond, seconds, inputs, score)
    const used = cpuSeconds(pid) - cpu
    const { user, system } = process.cpuUsage(ownCpu)
    const count = perSecond * seconds
    const ms = (share: number) => quantile(latencies, share).toFixed(1)
    const perScore = (total: number) => `${((total / count) * MS_PER_SECOND * MS_PER_SECOND).toFixed(0)} µs`

    say(`\n### Three models in their process compute ${perSecond} scores/s for ${seconds} s; load average ${machineLoad()}`)
    say(`\n${row(['', ''])}\n${row(['---', '--:'])}`)
    say(row(['P50, ms', ms(0.5)]))
    say(row(['P99, ms (target: below 10)', ms(0.99)]))
    say(row(['longest, ms', ms(1)]))
    say(row(['not scored within 30 ms', `${unscored} of ${count}`]))
    say(row(['batches by size', await batchSizes(registry)]))
    say(row(['from the start of the process to the first score, ms', startMs.toFixed(0)]))
    say(row(['CPU of the process per score', perScore(used)]))
    say(row(['CPU of the caller per score, including the load generator', perScore((user + system) / MS_PER_SECOND / MS_PER_SECOND)]))
    say(row(['peak memory of the process, MiB', peakRssMib(pid)]))
  } finally {
    await models.close()
  }
}

/** Requests scores at a fixed rate, regardless of response times. */
async function scoreAt(
  perSecond: number,
  seconds: number,
  inputs: readonly ModelInput[],
  score: (input: ModelInput) => Promise<ModelOutcome | undefined>,
): Promise<Scored> {
  const latencies: number[] = []
  const open: Promise<void>[] = []
  let unscored = 0
  const start = performance.now()
  const total = perSecond * seconds

  async function scoreOne(index: number): Promise<void> {
    const outcome = await score(inputs[index % inputs.length])
    if (outcome === undefined) unscored++
    else latencies.push(performance.now() - (start + (index / perSecond) * MS_PER_SECOND))
  }

  for (let index = 0; index < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / MS_PER_SECOND) * perSecond) + 1)
    for (; index < due; index++) open.push(scoreOne(index))
    await delay(1)
  }
  await Promise.all(open)
  return { latencies: latencies.sort((one, other) => one - other), unscored }
}

async function untilScored(score: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + STARTS_WITHIN_MS
  while ((await score()) === undefined) {
    if (performance.now() > end) throw new Error(`the model process returned no score within ${STARTS_WITHIN_MS} ms`)
    await delay(1)
  }
}

function modelProcess(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(PROCESS))
  if (found === undefined) throw new Error('there is no model process')
  return Number(found)
}

/** Describes the histogram of batch sizes, for example as "1: 900, up to 2: 50". */
async function batchSizes(registry: Registry): Promise<string> {
  const { values } = await registry.getSingleMetric('fraud_model_batch_rows')!.get()
  const buckets = values.filter(({ labels }) => labels.le !== undefined && labels.le !== '+Inf')
  const counts = buckets.map(({ labels, value }, index) => ({ size: labels.le, count: value - (buckets[index - 1]?.value ?? 0) }))
  return counts
    .filter(({ count }) => count > 0)
    .map(({ size, count }) => `${size === 1 ? '' : 'up to '}${size}: ${count}`)
    .join(', ')
}
