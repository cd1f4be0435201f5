/** A worker of the restart benchmark: `node worker-process.ts <json>`. Tells its state on standard output, one JSON object per line. */

import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { createWorker, memberIdentity } from '../../pipelines/engine/index.ts'
import { memoryRegistry } from '../../pipelines/engine/testing.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { type KeepLatestOptions, keepLatest } from './topology.ts'

export interface RestartWorker extends KeepLatestOptions {
  readonly brokers: string
  readonly folder: string
  readonly keepPlaceOnStop: boolean
}

/** What a worker tells. */
export interface WorkerLine {
  /** All of what is assigned runs. */
  readonly ready: boolean
  /** Everything that the broker has is processed and committed. */
  readonly caughtUp: boolean
  /** Input records that are processed, all partitions here together. */
  readonly processed: number
  /** Partitions that run here. */
  readonly partitions: readonly number[]
  /** Copies here, and how many of them are complete. */
  readonly standbys: number
  readonly completeStandbys: number
  /** Changelog records that were restored so far, and the ms from the first restore's begin to the last one's end. */
  readonly restored: number
  readonly restoreMs: number
}

const STATUS_EVERY_MS = 20
const STDERR = 2
/** Members of a group have each their share of the machine here. */
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
const worker = createWorker(
  { topology: keepLatest(given), keepPlaceOnStop: given.keepPlaceOnStop },
  { transport, registry: memoryRegistry(), backend, identity: memberIdentity(given.folder, given.name), runtime: systemRuntime(log) },
)
process.once('SIGTERM', () => void worker.stop())
// The benchmark is gone, and nobody else would end this.
process.stdin.once('end', () => process.exit(1)).resume()
await worker.start()

let last = ''
const telling = setInterval(() => {
  const { ready, tasks, standbys } = worker.status()
  const line: WorkerLine = {
    ready,
    processed: tasks.reduce((sum, task) => sum + task.position(given.input), 0),
    caughtUp: ready && tasks.every((task) => task.caughtUp && !task.hasWork),
    partitions: tasks.filter(({ state }) => state === 'RUNNING').map(({ partition }) => partition),
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
