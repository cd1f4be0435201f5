/**
 * Runs the engine as a contender. The program reads the same environment variables as the peers' run.sh and prints the
 * same lines.
 */

import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { memoryRegistry } from '../../kafka/memory/registry.ts'
import { createWorker, endedProcesses, memberIdentity } from '../../pipelines/engine/index.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { processAddress } from '../harness/process-address.ts'
import { workerEnvironment } from './config.ts'
import { JOBS } from './jobs.ts'

const STATUS_POLL_MS = 20
const STDERR = 2
/** Share of the process's memory limit that the database may use. */
const DATABASE_SHARE = 1 / 5
const BYTES_PER_MIB = 1024 * 1024

const env = workerEnvironment()
const log = pino({ level: 'warn' }, pino.destination(STDERR))
let started = false
let restored = 0
let restoreBegan = 0
/**
 * A log that passes on warnings and errors. It also prints the number of restored records, in the same format as the
 * peers.
 */
const given = {
  debug() {},
  info(fields: object, event: string) {
    if (event === 'restore_started' && restoreBegan === 0) restoreBegan = Date.now()
    if (event !== 'task_running' || restoreBegan === 0) return
    const { task, restored_records } = fields as { task: string; restored_records: number }
    restored += restored_records
    process.stdout.write(`RESTORED ${task} ${restored} in_ms ${Date.now() - restoreBegan}\n`)
  },
  warn: (fields: object, event: string) => log.warn(fields, event),
  error: (fields: object, event: string) => log.error(fields, event),
}

function onRecord(): void {
  if (started) return
  started = true
  process.stdout.write(`FIRST_RECORD ${Date.now()}\n`)
}

const transport = kafkaTransport({ brokers: [env.brokers], clientId: env.group }, { runtime: systemRuntime(log) })
await transport.connect()
const memoryBudgetBytes = env.memoryMib === undefined ? undefined : env.memoryMib * BYTES_PER_MIB * DATABASE_SHARE
const backend = await openRocksdbBackend({ folder: env.stateDir, ...(memoryBudgetBytes === undefined ? {} : { memoryBudgetBytes }) })
const runtime = systemRuntime(given)
const watched = env.standby === 0 ? {} : { address: await processAddress(), hasEnded: endedProcesses(runtime) }
const worker = createWorker(
  {
    topology: JOBS[env.job].topology({
      name: env.group,
      input: env.input,
      output: env.output,
      onRecord,
      standby: env.standby,
      statePadding: env.statePadding,
    }),
    guarantee: env.guarantee,
    commitIntervalMs: env.commitIntervalMs,
    compression: env.compression,
  },
  { transport, registry: memoryRegistry(), backend, identity: memberIdentity(env.stateDir, env.group), runtime, ...watched },
)
await worker.start()
process.on('SIGTERM', () => void worker.stop())
const ready = setInterval(() => {
  if (!worker.status().ready) return
  clearInterval(ready)
  process.stdout.write(`STATE RUNNING ${Date.now()}\n`)
}, STATUS_POLL_MS)
await worker.done
clearInterval(ready)
await transport.close()
await backend.close()
