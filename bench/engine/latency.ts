import { setTimeout as delay } from 'node:timers/promises'
import type { Transport } from '../../kafka/transport.ts'
import { cpuSeconds, machineCpuSeconds } from '../harness/process-stats.ts'
import { quantile } from '../harness/table.ts'
import type { WorkerEnvironment } from './config.ts'
import type { Contender } from './contender.ts'
import { type JobInput, PARTITIONS } from './job.ts'
import { inputAppender } from './load.ts'
import { readLongs } from './longs.ts'

/** Latencies of records, from when a record was due until a poll returned its output. */
export interface LatencyFigures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Mean number of cores that the contender keeps busy. */
  readonly cores: number
  readonly brokerCores: number
  readonly otherCpuSeconds: number
}

export const WARM_UP_SECONDS = 10
export const MEASURED_SECONDS = 15
/** Time that the processes get to join their group before the first record is sent. */
const START_MS = 5_000
/** Time to wait for outputs after the last record has been sent. */
const DRAIN_MS = 15_000
const SEND_EVERY_MS = 1
const POLL_MS = 100
const MS_PER_SECOND = 1_000

export interface LatencyRun {
  readonly contender: Contender
  readonly worker: WorkerEnvironment
  /** The input of job J2. The first field of an output record is the number of its input record. */
  readonly input: JobInput
  readonly rate: number
  readonly transport: Transport
  readonly brokerPid: number | undefined
}

/**
 * Measures latency in an open loop. Latency is measured from when a record was due, so that it includes stalls of the
 * sender.
 */
export async function measureLatency(run: LatencyRun): Promise<LatencyFigures> {
  const { contender, worker, input, rate, transport } = run
  const firstMeasured = rate * WARM_UP_SECONDS
  const running = contender.start(worker)
  running.watch(() => {})
  const cpu = () => {
    const [mine, broker] = [running.cpuSeconds(), run.brokerPid === undefined ? 0 : cpuSeconds(run.brokerPid)]
    return { mine, broker, others: machineCpuSeconds() - mine - broker - cpuSeconds(process.pid) }
  }
  const reader = readOutputs(transport, worker.output, input.count)
  try {
    await delay(START_MS)
    running.expectAlive()
    let before = cpu()
    const startedAt = performance.now()
    await send(transport, worker.input, input, rate, startedAt, (index) => {
      if (index === firstMeasured) before = cpu()
    })
    const after = cpu()
    const seenAt = await reader.seen(DRAIN_MS)
    const times = Array.from({ length: input.count - firstMeasured }, (_, i) => {
      const index = firstMeasured + i
      return seenAt[index] - (startedAt + (index * MS_PER_SECOND) / rate)
    }).sort((a, b) => a - b)
    if (times.some(Number.isNaN))
      throw new Error(`some records had no output within ${DRAIN_MS} ms of the last input record, so their latency is unknown`)
    return {
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      maxMs: quantile(times, 1),
      cores: (after.mine - before.mine) / MEASURED_SECONDS,
      brokerCores: (after.broker - before.broker) / MEASURED_SECONDS,
      otherCpuSeconds: after.others - before.others,
    }
  } finally {
    await reader.close()
    await running.stop()
  }
}

async function send(
  transport: Transport,
  topic: string,
  input: JobInput,
  rate: number,
  startedAt: number,
  onRecord: (index: number) => void,
): Promise<void> {
  const producer = transport.producer({})
  await producer.init()
  const append = inputAppender(producer, topic, input)
  let next = 0
  while (next < input.count) {
    const due = Math.min(input.count, Math.floor(((performance.now() - startedAt) * rate) / MS_PER_SECOND) + 1)
    for (; next < due; next++) {
      onRecord(next)
      append(next)
    }
    await Promise.all([producer.commit(new Map(), undefined), delay(SEND_EVERY_MS)])
  }
  await producer.close()
}

/** Reads the output from its beginning and notes when the output of each input record was first seen. */
function readOutputs(transport: Transport, topic: string, count: number) {
  const seenAt = new Float64Array(count).fill(Number.NaN)
  const fetcher = transport.fetcher({ isolation: 'read_committed' })
  for (let partition = 0; partition < PARTITIONS; partition++) fetcher.assign({ topic, partition }, 0, 'fail')
  const fields = new Float64Array(12)
  let seen = 0
  let closed = false

  async function read(): Promise<void> {
    while (!closed && seen < count) {
      const polled = await fetcher.poll(POLL_MS)
      const now = performance.now()
      for (const { chunks } of polled)
        for (const { buffer, count: records, valueStart, valueEnd } of chunks)
          for (let i = 0; i < records; i++) {
            readLongs(buffer, valueStart[i], valueEnd[i], fields)
            if (!Number.isNaN(seenAt[fields[0]])) continue
            seenAt[fields[0]] = now
            seen++
          }
    }
  }
  const reading = read()
  reading.catch(() => {}) // Prevents an unhandled rejection. `seen` rejects with the error.

  return {
    /**
     * Waits until every output has been seen, but at most `timeoutMs`.
     * @returns for each input record, the `performance.now()` time at which its output was first seen; NaN if it was
     * not seen
     */
    async seen(timeoutMs: number): Promise<Float64Array> {
      await Promise.race([reading, delay(timeoutMs, undefined, { ref: false })])
      return seenAt
    },
    async close(): Promise<void> {
      closed = true
      await reading.catch(() => {})
      await fetcher.close()
    },
  }
}
