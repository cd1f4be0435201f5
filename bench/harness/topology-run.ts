import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { lags } from '../trends/progress.ts'
import { benchTransport } from './broker.ts'
import { profileTo, startNode } from './node-process.ts'
import { cpuSeconds } from './process-stats.ts'
import type { BenchServers } from './servers.ts'

export interface TopologyRunOptions {
  /** Path of the topology's module from the repository's root, and name of the module's export. */
  readonly module: string
  readonly export: string
  /** Name of the topology, which is also the name of its consumer group. */
  readonly group: string
  /**
   * The run ends when the committed offsets cover these topics. The first topic is the input, which has `records`
   * records.
   */
  readonly topics: readonly [input: string, ...others: string[]]
  readonly records: number
  readonly prof: string | undefined
}

export interface TopologyRun {
  readonly perSecond: number
  /** Rate in the second half of the input, when the process has warmed up. */
  readonly warmPerSecond: number
  /** CPU seconds of the process per million records. */
  readonly cpu: number
}

const POLL_MS = 50
const TIMEOUT_MS = 300_000
const MS_PER_SECOND = 1_000
const MILLION = 1e6

/**
 * Starts a process with one topology. Measures how long the topology takes to process a backlog once its tasks are
 * running.
 */
export async function runTopology({ addresses, home }: BenchServers, options: TopologyRunOptions): Promise<TopologyRun> {
  const { group, topics, records, prof } = options
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [addresses.kafka] })
  const transport = benchTransport(addresses.kafka)
  await transport.connect()
  const worker = await startNode(
    'bench/harness/topology-process.ts',
    [...BUFFER_HEAP_FLAGS, ...profileTo(prof)],
    BUFFER_HEAP_ENV,
    'topology_started',
    [addresses.kafka, addresses.registry, join(home.state, group), options.module, options.export],
  )
  try {
    const startedAt = worker.line.at as number
    const cpuBefore = cpuSeconds(worker.pid)
    let halfAt = startedAt
    let halfLeft = records
    for (;;) {
      await delay(POLL_MS)
      const waiting = await lags(admin, transport, group)
      const left = waiting.get(topics[0]) ?? records
      const now = Date.now()
      if (left > records / 2) {
        halfAt = now
        halfLeft = left
      }
      if (topics.every((topic) => (waiting.get(topic) ?? 1) <= 0)) {
        const perSecond = (records * MS_PER_SECOND) / (now - startedAt)
        const warmPerSecond = (halfLeft * MS_PER_SECOND) / Math.max(1, now - halfAt)
        return { perSecond, warmPerSecond, cpu: ((cpuSeconds(worker.pid) - cpuBefore) * MILLION) / records }
      }
      if (now - startedAt > TIMEOUT_MS) throw new Error(`${left} of ${records} records were not processed within ${TIMEOUT_MS} ms`)
    }
  } finally {
    await worker.stop()
    await admin.close()
    await transport.close()
  }
}
