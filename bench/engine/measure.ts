import { setTimeout as delay } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { cpuSeconds, machineCpuSeconds } from '../harness/process-stats.ts'
import type { WorkerEnvironment } from './config.ts'
import type { Contender } from './contender.ts'

/** The results of one run. CPU times are user and system seconds per million records. */
export interface RunFigures {
  /** Records per second, from the first record until the committed offsets cover the input. */
  readonly recordsPerSecond: number
  /** Records per second, from the end of the warm-up until the committed offsets cover the input. */
  readonly warmRecordsPerSecond: number
  readonly cpu: number
  readonly warmCpu: number
  readonly brokerCpu: number
  readonly peakRssMib: number
  /** Bytes per record that the contender's processes wrote to files. */
  readonly writtenBytes: number
  readonly warmWrittenBytes: number
  /** Time from the start of the process to the first record. */
  readonly startSeconds: number
  /** CPU seconds of all other processes on the machine. A run with a high value is unreliable. */
  readonly otherCpuSeconds: number
}

const POLL_MS = 50
const TIMEOUT_MS = 300_000
/**
 * Lowest rate in records per second. A run that takes longer than `TIMEOUT_MS` is aborted if it is slower than this.
 */
const LOWEST_RATE = 2_000
const MS_PER_SECOND = 1_000
const MILLION = 1e6

interface Moment {
  readonly at: number
  readonly done: number
  readonly worker: number
  readonly written: number
  readonly broker: number
  readonly others: number
}

export interface Measured {
  readonly contender: Contender
  readonly worker: WorkerEnvironment
  /** Number of input records. */
  readonly records: number
  /** The contender counts as warm after this many records. Default: half of all records. */
  readonly warmFrom?: number
  /** Process id of the broker; undefined for an external broker. */
  readonly brokerPid?: number | undefined
}

/** Runs a contender over the whole input. */
export async function measureRun({ contender, worker, records, warmFrom = records / 2, brokerPid }: Measured): Promise<RunFigures> {
  const startedAt = Date.now()
  const running = contender.start(worker)
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [worker.brokers] })
  const moment = (done: number, at = Date.now()): Moment => {
    const [mine, broker] = [running.cpuSeconds(), brokerPid === undefined ? 0 : cpuSeconds(brokerPid)]
    return {
      at,
      done,
      worker: mine,
      written: running.writtenBytes(),
      broker,
      others: machineCpuSeconds() - mine - broker - cpuSeconds(process.pid),
    }
  }
  let first: Moment | undefined
  let half: Moment | undefined
  running.watch((at) => (first = moment(0, at)))
  try {
    const timeoutMs = Math.max(TIMEOUT_MS, (records / LOWEST_RATE) * MS_PER_SECOND)
    const deadline = startedAt + timeoutMs
    for (;;) {
      await delay(POLL_MS)
      const done = first === undefined ? 0 : await committed(admin, worker)
      if (half === undefined && done >= warmFrom) half = moment(done)
      if (first !== undefined && done >= records) return figures(startedAt, first, half ?? first, moment(done), running.peakRssMib())
      running.expectAlive()
      if (Date.now() > deadline) throw new Error(`only ${done} of ${records} records were processed in ${timeoutMs / MS_PER_SECOND} s`)
    }
  } finally {
    await running.stop()
    await admin.close()
  }
}

function figures(startedAt: number, first: Moment, half: Moment, end: Moment, rss: number): RunFigures {
  const rate = (from: Moment) => ((end.done - from.done) / Math.max(1, end.at - from.at)) * MS_PER_SECOND
  const perRecord = (bytes: number, done: number) => bytes / Math.max(1, done)
  const perMillion = (seconds: number, done: number) => (seconds * MILLION) / Math.max(1, done)
  return {
    recordsPerSecond: rate(first),
    warmRecordsPerSecond: rate(half),
    cpu: perMillion(end.worker - first.worker, end.done),
    warmCpu: perMillion(end.worker - half.worker, end.done - half.done),
    brokerCpu: perMillion(end.broker - first.broker, end.done),
    peakRssMib: rss,
    writtenBytes: perRecord(end.written - first.written, end.done),
    warmWrittenBytes: perRecord(end.written - half.written, end.done - half.done),
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
