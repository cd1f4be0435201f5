/**
 * `npm run bench:engine`: measures the engine and a peer in alternating runs on the same broker and input, and verifies
 * every output. See run.command.ts for the options and config.ts for the environment.
 */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Transport } from '../../kafka/transport.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { dataSet } from '../../scripts/data-sets.ts'
import { startBroker } from '../harness/broker.ts'
import { withStarted } from '../harness/folder.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { whereInstalled } from '../peer-missing.ts'
import { type BenchConfig, benchConfig, type WorkerEnvironment } from './config.ts'
import { type Contender, ContenderEndedError, engineContender, peerContender } from './contender.ts'
import { type JobInput, KEEP_ALL, PARTITIONS } from './job.ts'
import { JOBS } from './jobs.ts'
import { type LatencyFigures, MEASURED_SECONDS, measureLatency, WARM_UP_SECONDS } from './latency.ts'
import { loadInput } from './load.ts'
import { measureRun, type RunFigures } from './measure.ts'
import { type Column, cells, header, type Runs, summary } from './report.ts'
import declaration from './run.command.ts'
import { verifyOutput } from './verify.ts'

const RUN_COLUMNS: readonly Column<RunFigures>[] = [
  { title: 'records/s', digits: 0, of: (run) => run.recordsPerSecond },
  { title: 'warm', digits: 0, of: (run) => run.warmRecordsPerSecond },
  { title: 'CPU s/M', digits: 2, of: (run) => run.cpu },
  { title: 'warm', digits: 2, of: (run) => run.warmCpu },
  { title: 'broker CPU s/M', digits: 2, of: (run) => run.brokerCpu },
  { title: 'peak RSS MiB', digits: 0, of: (run) => run.peakRssMib },
  { title: 'written B/record', digits: 0, of: (run) => run.writtenBytes },
  { title: 'warm', digits: 0, of: (run) => run.warmWrittenBytes },
  { title: 'start s', digits: 2, of: (run) => run.startSeconds },
  { title: 'others CPU s', digits: 2, of: (run) => run.otherCpuSeconds },
]

const LATENCY_COLUMNS: readonly Column<LatencyFigures>[] = [
  { title: 'P50 ms', digits: 1, of: (run) => run.p50Ms },
  { title: 'P99 ms', digits: 1, of: (run) => run.p99Ms },
  { title: 'max ms', digits: 1, of: (run) => run.maxMs },
  { title: 'cores', digits: 2, of: (run) => run.cores },
  { title: 'broker cores', digits: 2, of: (run) => run.brokerCores },
  { title: 'others CPU s', digits: 2, of: (run) => run.otherCpuSeconds },
]

interface Place {
  readonly brokers: string
  readonly brokerPid: number | undefined
  readonly folder: string
  readonly transport: Transport
}

const say = (text: string) => process.stdout.write(`${text}\n`)

/** Creates the output topic of one run, and returns the environment of its processes. */
async function newWorker(config: BenchConfig, { brokers, folder, transport }: Place, input: string): Promise<WorkerEnvironment> {
  const { job, guarantee, commitIntervalMs, compression, statePadding, memoryMib } = config
  const group = `bench-${job.toLowerCase()}-${randomUUID().slice(0, 8)}`
  const output = `${group}-out`
  await transport.ensureTopics([{ name: output, partitions: PARTITIONS, config: KEEP_ALL }])
  const stateDir = join(folder, group)
  return { job, brokers, input, output, group, stateDir, guarantee, commitIntervalMs, compression, statePadding, memoryMib }
}

/** Runs the contenders alternately and prints every run, the medians and the ratios. */
async function compare<Figures>(
  contenders: readonly Contender[],
  runs: number,
  columns: readonly Column<Figures>[],
  once: (contender: Contender) => Promise<Figures>,
): Promise<void> {
  const all: Runs<Figures>[] = contenders.map(({ label }) => ({ label, runs: [] }))
  const leftOut = new Set<Contender>()
  say(header(columns))
  for (let number = 1; number <= runs; number++) {
    for (const [i, contender] of contenders.entries()) {
      if (leftOut.has(contender)) continue
      const figures = await once(contender).catch((error) => {
        // A peer whose process has ended is left out of the next runs. If the engine's process has ended, the benchmark
        // fails, because there is nothing to compare.
        if (i === 0 || !(error instanceof ContenderEndedError)) throw error
        say(`skipping ${contender.label}: ${error.message}; check that it is built and that its runtime is installed`)
        leftOut.add(contender)
      })
      if (figures === undefined) continue
      all[i].runs.push(figures)
      say(cells(`${contender.label} (${number})`, columns, (column) => column.of(figures)))
    }
  }
  say(
    summary(
      all.filter(({ runs }) => runs.length > 0),
      columns,
    ),
  )
}

async function expectRight(transport: Transport, { output, stateDir }: WorkerEnvironment, input: JobInput): Promise<void> {
  rmSync(stateDir, { recursive: true, force: true })
  const verdict = await verifyOutput(transport, output, input.check())
  if (verdict !== 'ok') throw new Error(`the output is incorrect: ${verdict}`)
}

/** Describes the compression of outputs. Inputs are never compressed. */
function compressed({ compression }: BenchConfig): string {
  return compression === 'none' ? 'no compression' : `outputs compressed with ${compression}`
}

/**
 * Returns the number of records after which a run counts as warm. This is half of the records, or more if the job has
 * so many cards that later records still create new states.
 */
function warmFrom({ records, cards = 0 }: BenchConfig): number {
  return Math.max(records / 2, Math.min(cards, records - 1))
}

/** Describes the run's settings for the size of the state and for memory. */
function ofState({ cards, statePadding, memoryMib }: BenchConfig): string {
  const parts = [
    ...(cards === undefined ? [] : [`${cards} cards`]),
    ...(statePadding === 0 ? [] : [`states padded with ${statePadding} bytes`]),
    ...(memoryMib === undefined ? [] : [`at most ${memoryMib} MiB of memory`]),
  ]
  return parts.map((part) => `, ${part}`).join('')
}

async function throughput(config: BenchConfig, contenders: readonly Contender[], place: Place): Promise<void> {
  const { transport } = place
  const input = JOBS[config.job].input(config.dataDir, config.records, { cards: config.cards })
  const topic = `bench-${config.job.toLowerCase()}-in-${randomUUID().slice(0, 8)}`
  await loadInput(transport, topic, input)
  say(
    `each run processes ${input.count} records in ${PARTITIONS} partitions: ${config.guarantee}, one commit every ${config.commitIntervalMs} ms, ${compressed(config)}${ofState(config)}`,
  )
  await compare(contenders, config.runs, RUN_COLUMNS, async (contender) => {
    const worker = await newWorker(config, place, topic)
    const figures = await measureRun({ contender, worker, records: input.count, warmFrom: warmFrom(config), brokerPid: place.brokerPid })
    await expectRight(transport, worker, input)
    return figures
  })
  say('every output was verified in full (read_committed)')
}

async function latency(config: BenchConfig, contenders: readonly Contender[], place: Place, rate: number): Promise<void> {
  const { transport } = place
  const input = JOBS[config.job].input(config.dataDir, rate * (WARM_UP_SECONDS + MEASURED_SECONDS))
  say(
    `each run processes ${rate} records/s: ${config.guarantee}, at most ${config.commitIntervalMs} ms between commits, ${compressed(config)}; times are from when a record is due until a read_committed reader sees its output`,
  )
  await compare(contenders, config.runs, LATENCY_COLUMNS, async (contender) => {
    const topic = `bench-latency-in-${randomUUID().slice(0, 8)}`
    await transport.ensureTopics([{ name: topic, partitions: PARTITIONS, config: KEEP_ALL }])
    const worker = await newWorker(config, place, topic)
    const figures = await measureLatency({ contender, worker, input, rate, transport, brokerPid: place.brokerPid })
    await expectRight(transport, worker, input)
    return figures
  })
}

async function main(): Promise<void> {
  const config = benchConfig(commandLine(declaration))
  const contenders = [engineContender(config)]
  const { peer } = config
  const other = peer === undefined ? undefined : await whereInstalled(peer, () => peerContender(peer, config))
  if (other !== undefined) contenders.push(other)
  const needed = JOBS[config.job].data
  if (needed !== undefined) dataSet(config.dataDir, needed)
  const start = (folder: string) => startBroker(folder, config.brokers, 'warn')
  await withStarted(start, async ({ brokers, pid, transport }, folder) => {
    const place = { brokers, brokerPid: pid, folder, transport }
    say(`${config.job}, ${JOBS[config.job].title}; ${describeMachine()}`)
    if (config.latencyRate === undefined) await throughput(config, contenders, place)
    else await latency(config, contenders, place, config.latencyRate)
  })
}

await runMain(main)
