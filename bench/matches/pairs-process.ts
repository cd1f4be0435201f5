/**
 * Runs the topology match-pairs alone, without sinks. Prints a line when it is ready, and another one at the first
 * commit. Arguments: address of Kafka, URL of the schema registry, folder of the state.
 */
import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { createWorker, memberIdentity } from '../../pipelines/engine/index.ts'
import { matchPairs } from '../../pipelines/matches/pairs/topology.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'

const STDERR = 2
const READY_POLL_MS = 20

const [broker, registryUrl, stateDir] = process.argv.slice(2)
const runtime = systemRuntime(pino({ level: 'warn' }, pino.destination(STDERR)))
const transport = kafkaTransport({ brokers: [broker], clientId: 'bench-pairs' }, { runtime })
await transport.connect()
const backend = await openRocksdbBackend({ folder: stateDir })
const worker = createWorker(
  { topology: matchPairs },
  { transport, registry: registryClient({ url: registryUrl }), backend, identity: memberIdentity(stateDir, 'match-pairs'), runtime },
)
await worker.start()
process.on('SIGTERM', () => void worker.stop())
const ready = setInterval(() => {
  if (!worker.status().ready) return
  clearInterval(ready)
  process.stdout.write(`${JSON.stringify({ event: 'pairs_started', at: Date.now() })}\n`)
}, READY_POLL_MS)
await worker.done
await transport.close()
await backend.close()
