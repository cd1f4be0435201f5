import { Admin } from '@platformatic/kafka'
import { waitUntil } from '../../deploy/local/wait.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import type { WorkerProcess } from '../harness/worker.ts'
import { lags } from '../trends/progress.ts'
import { clickProducer } from './producer.ts'
import { clickStream, type Spread } from './stream.ts'

/** The speed and cost of processing one backlog. CPU times are user and system seconds per million clicks. */
export interface BacklogFigures {
  /** Clicks per second, measured until the committed offsets cover all clicks. The sinks run concurrently. */
  readonly clicksPerSecond: number
  /** Clicks per second, measured until Redis and ClickHouse contain all clicks. */
  readonly storedPerSecond: number
  readonly cpu: number
  readonly brokerCpu: number
  /** CPU time of Redis and ClickHouse together. */
  readonly storesCpu: number
  readonly peakRssMib: number
  readonly stateMib: number
  /** CPU seconds of all other processes on the machine during the run. */
  readonly otherCpuSeconds: number
}

const GROUPS = ['clicks', 'link-stats-view', 'clicks-table']
const [TOPOLOGY] = GROUPS
const POLL_MS = 50
const TIMEOUT_MS = 240_000
const MS_PER_SECOND = 1_000
const MILLION = 1e6
const BYTES_PER_MIB = 1_048_576

/**
 * Writes clicks to the topic while the worker is suspended, and measures how long the worker then takes to process
 * them. Verifies that ClickHouse has stored as many clicks as were sent.
 */
export async function measureBacklog(
  servers: BenchServers,
  transport: Transport,
  worker: WorkerProcess,
  options: { spread: Spread; count: number; userAgents: readonly string[]; seed: number },
): Promise<BacklogFigures> {
  const { spread, count, userAgents, seed } = options
  const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [servers.addresses.kafka] })
  try {
    const storedBefore = await storedClicks(servers)
    worker.signal('SIGSTOP')
    const producer = await clickProducer(transport, registryClient({ url: servers.addresses.registry }))
    const next = clickStream(spread, userAgents, seed)
    for (let sent = 0; sent < count; sent++) await producer.send(next(Date.now()))
    await producer.flush()
    await producer.close()
    const { kafka, redis, clickhouse } = servers.pids
    const cpuNow = () => ({
      worker: cpuSeconds(worker.pid),
      broker: cpuSeconds(kafka),
      stores: cpuSeconds(redis) + cpuSeconds(clickhouse),
      own: cpuSeconds(process.pid),
      machine: machineCpuSeconds(),
    })
    const before = cpuNow()
    const startedAt = Date.now()
    worker.signal('SIGCONT')
    await untilCommitted(admin, transport, worker, [TOPOLOGY])
    const countedAt = Date.now()
    await untilCommitted(admin, transport, worker, GROUPS)
    const storedAt = Date.now()
    const after = cpuNow()
    const used = (part: keyof typeof before) => after[part] - before[part]
    const stored = (await storedClicks(servers)) - storedBefore
    if (stored !== count) throw new Error(`${stored} clicks are in ClickHouse, but ${count} were sent`)
    return {
      clicksPerSecond: (count / (countedAt - startedAt)) * MS_PER_SECOND,
      storedPerSecond: (count / (storedAt - startedAt)) * MS_PER_SECOND,
      cpu: (used('worker') * MILLION) / count,
      brokerCpu: (used('broker') * MILLION) / count,
      storesCpu: (used('stores') * MILLION) / count,
      peakRssMib: peakRssMib(worker.pid),
      stateMib: worker.stateBytes() / BYTES_PER_MIB,
      otherCpuSeconds: used('machine') - used('worker') - used('broker') - used('stores') - used('own'),
    }
  } finally {
    await admin.close()
  }
}

function storedClicks(servers: BenchServers): Promise<number> {
  return servers.query('SELECT count() FROM clicks')
}

async function untilCommitted(admin: Admin, transport: Transport, worker: WorkerProcess, groups: readonly string[]): Promise<void> {
  await waitUntil(
    async () => {
      worker.check()
      for (const group of groups) {
        const waiting = await lags(admin, transport, group)
        // End offsets include control records. A group that has processed all clicks therefore lags until it also
        // commits the offsets of these records, a moment later.
        if (waiting.size === 0 || [...waiting.values()].some((lag) => lag > 0)) return false
      }
      return true
    },
    { what: `the processing of all clicks by ${groups.join(', ')}`, timeoutMs: TIMEOUT_MS, intervalMs: POLL_MS },
  )
}
