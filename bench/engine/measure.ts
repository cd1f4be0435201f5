import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Admin } from '@platformatic/kafka'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { type WorkerEnvironment, workerProcessEnv } from './config.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from './process-stats.ts'

/** One measured run. CPU is user + system seconds per million records. */
export interface RunFigures {
  /** First record to committed offsets that cover the input. */
  readonly recordsPerSecond: number
  /** Of the second half of the input: what a warm process does. */
  readonly warmRecordsPerSecond: number
  readonly cpu: number
  readonly warmCpu: number
  readonly brokerCpu: number
  readonly peakRssMib: number
  /** Process start to first record. */
  readonly startSeconds: number
  /** What the rest of the machine burnt meanwhile, seconds: a run with much of it is spoiled. */
  readonly otherCpuSeconds: number
}

const POLL_MS = 50
const TIMEOUT_MS = 240_000
const STOP_MS = 25_000
const MS_PER_SECOND = 1_000
const MILLION = 1e6

const WORKER = fileURLToPath(new URL('./worker-process.ts', import.meta.url))

interface Moment {
  readonly at: number
  readonly done: number
  readonly worker: number
  readonly broker: number
  readonly others: number
}

/** Runs one worker process, started with the flags of every worker, over the whole input. */
export async function measureRun(
  worker: WorkerEnvironment,
  records: number,
  options: { readonly brokerPid: number | undefined; readonly nodeArguments: readonly string[] },
): Promise<RunFigures> {
  const startedAt = Date.now()
  const child = spawn(process.execPath, [...BUFFER_HEAP_FLAGS, ...options.nodeArguments, WORKER], {
    env: workerProcessEnv(worker),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = child.pid ?? 0
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [worker.brokers] })
  const ofBroker = () => (options.brokerPid === undefined ? 0 : cpuSeconds(options.brokerPid))
  const moment = (done: number, at = Date.now()): Moment => {
    const [mine, broker] = [cpuSeconds(pid), ofBroker()]
    return { at, done, worker: mine, broker, others: machineCpuSeconds() - mine - broker - cpuSeconds(process.pid) }
  }
  let first: Moment | undefined
  let half: Moment | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [word, ms] = line.split(' ')
    if (word === 'FIRST_RECORD') first = moment(0, Number(ms))
  })
  try {
    const deadline = startedAt + TIMEOUT_MS
    for (;;) {
      await delay(POLL_MS)
      const done = first === undefined ? 0 : await committed(admin, worker)
      if (half === undefined && done >= records / 2) half = moment(done)
      if (first !== undefined && done >= records) return figures(startedAt, first, half ?? first, moment(done), peakRssMib(pid))
      if (child.exitCode !== null) throw new Error(`the worker ended with code ${child.exitCode} after ${done} of ${records} records`)
      if (Date.now() > deadline) throw new Error(`only ${done} of ${records} records were done in ${TIMEOUT_MS / MS_PER_SECOND} s`)
    }
  } finally {
    await stop(child)
    await admin.close()
  }
}

function figures(startedAt: number, first: Moment, half: Moment, end: Moment, rss: number): RunFigures {
  const rate = (from: Moment) => ((end.done - from.done) / Math.max(1, end.at - from.at)) * MS_PER_SECOND
  const perMillion = (seconds: number, done: number) => (seconds * MILLION) / Math.max(1, done)
  return {
    recordsPerSecond: rate(first),
    warmRecordsPerSecond: rate(half),
    cpu: perMillion(end.worker - first.worker, end.done),
    warmCpu: perMillion(end.worker - half.worker, end.done - half.done),
    brokerCpu: perMillion(end.broker - first.broker, end.done),
    peakRssMib: rss,
    startSeconds: (first.at - startedAt) / MS_PER_SECOND,
    otherCpuSeconds: end.others - first.others,
  }
}

async function committed(admin: Admin, worker: WorkerEnvironment): Promise<number> {
  const groups = await admin.listConsumerGroupOffsets({ groups: [worker.group] })
  const partitions = groups
    .flatMap((group) => group.topics.filter((topic) => topic.name === worker.input))
    .flatMap((topic) => topic.partitions)
  return partitions.reduce((sum, partition) => sum + Math.max(0, Number(partition.committedOffset)), 0)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(timer)
}
