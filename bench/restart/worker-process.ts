/**
 * A worker of the restart benchmark: `node worker-process.ts <json>`. The program prints its status to standard output,
 * one JSON object per line.
 */

import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { memoryRegistry } from '../../kafka/memory/registry.ts'
import { createWorker, endedProcesses, memberIdentity } from '../../pipelines/engine/index.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { processAddress } from '../harness/process-address.ts'
import { type KeepLatestOptions, keepLatest } from './topology.ts'

export interface RestartWorker extends KeepLatestOptions {
  readonly brokers: string
  readonly folder: string
  readonly keepPlaceOnStop: boolean
}

/** The status that a worker prints. */
export interface WorkerLine {
  /** True when all assigned tasks are running. */
  readonly ready: boolean
  /** True if this worker has processed and committed the whole input of its partitions. */
  readonly caughtUp: boolean
  /**
   * Number of input records that have been processed in this worker's partitions, by this worker or by earlier owners.
   */
  readonly processed: number
  /** Partitions that run on this worker. */
  readonly partitions: readonly number[]
  /** True while the worker copies state before it takes over partitions. */
  readonly warmingUp: boolean
  /** Number of standbys on this worker. */
  readonly standbys: number
  /** Number of standbys on this worker that have caught up. */
  readonly completeStandbys: number
  /** Number of changelog records that this worker's running tasks have restored. */
  readonly restored: number
  /** Time in ms from the start of the first restore to the end of the last one. */
  readonly restoreMs: number
}

const STATUS_EVERY_MS = 20
const STDERR = 2
/** Memory budget of each worker's state database. It is small, because all members of the group run on one machine. */
const MEMORY_BUDGET_BYTES = 256 * 1_048_576

const given = JSON.parse(process.argv[2]) as RestartWorker
const errors = pino({ level: 'warn' }, pino.destination(STDERR))
let restored = 0
let restoreBegan = 0
let restoreEnded = 0
const log = {
  debug() {},
  info(fields: object, event: string) {
    if (event === 'restore_started' && restoreBegan === 0) restoreBegan = performance.now()
    if (event !== 'task_running') return
    restored += (fields as { restored_records: number }).restored_records
    restoreEnded = performance.now()
  },
  warn: (fields: object, event: string) => errors.warn(fields, event),
  error: (fields: object, event: string) => errors.error(fields, event),
}

const transport = kafkaTransport({ brokers: [given.brokers], clientId: given.name }, { runtime: systemRuntime(errors) })
await transport.connect()
const backend = await openRocksdbBackend({ folder: given.folder, memoryBudgetBytes: MEMORY_BUDGET_BYTES })
const runtime = systemRuntime(log)
const identity = memberIdentity(given.folder, given.name)
const worker = createWorker(
  { topology: keepLatest(given), keepPlaceOnStop: given.keepPlaceOnStop },
  { transport, registry: memoryRegistry(), backend, identity, runtime, address: await processAddress(), hasEnded: endedProcesses(runtime) },
)
process.once('SIGTERM', () => void worker.stop())
// Standard input ends when the benchmark ends. This process must then exit, because nothing else would stop it.
process.stdin.once('end', () => process.exit(1)).resume()
await worker.start()

let last = ''
const telling = setInterval(() => {
  const { ready, tasks, standbys, warmUp } = worker.status()
  const line: WorkerLine = {
    ready,
    processed: tasks.reduce((sum, task) => sum + task.position(given.input), 0),
    caughtUp: ready && tasks.every((task) => task.caughtUp && !task.hasWork),
    partitions: tasks.filter(({ state }) => state === 'RUNNING').map(({ partition }) => partition),
    warmingUp: warmUp !== undefined,
    standbys: standbys.length,
    completeStandbys: standbys.filter(({ completeAt, behind }) => completeAt !== undefined && behind === 0).length,
    restored,
    restoreMs: Math.round(Math.max(0, restoreEnded - restoreBegan)),
  }
  const text = JSON.stringify(line)
  if (text === last) return
  last = text
  process.stdout.write(`${text}\n`)
}, STATUS_EVERY_MS)
try {
  await worker.done
} finally {
  process.stdin.destroy()
  clearInterval(telling)
  await transport.close()
  await backend.close()
}
