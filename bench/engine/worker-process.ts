/** The engine as one more peer: honours the environment of the peers' run.sh and prints what it prints. */
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { memoryRegistry } from '../../kafka/memory/registry.ts'
import { createWorker } from '../../pipelines/engine/worker.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { workerEnvironment } from './config.ts'
import { JOBS } from './jobs.ts'

const STATUS_POLL_MS = 20
const STDERR = 2

const env = workerEnvironment()
const log = pino({ level: 'warn' }, pino.destination(STDERR))
let started = false

function onRecord(): void {
  if (started) return
  started = true
  process.stdout.write(`FIRST_RECORD ${Date.now()}\n`)
}

const transport = kafkaTransport({ brokers: [env.brokers], clientId: env.group }, { clock: { now: Date.now }, log })
await transport.connect()
const backend = await openRocksdbBackend({ folder: env.stateDir })
const memberId = randomUUID()
const worker = createWorker(
  {
    topology: JOBS[env.job].topology({ name: env.group, input: env.input, output: env.output, onRecord }),
    guarantee: env.guarantee,
    commitIntervalMs: env.commitIntervalMs,
    compression: env.compression,
  },
  { transport, registry: memoryRegistry(), backend, identity: { memberId, transactionalId: `${env.group}-${memberId}` }, log },
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
