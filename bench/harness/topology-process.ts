/**
 * Runs one topology without sinks. When its tasks are running, prints a line with the current time. Arguments: address
 * of Kafka, URL of the schema registry, folder for the state, path of the topology's module from the repository root,
 * and name of the export.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { createWorker, memberIdentity, type Topology } from '../../pipelines/engine/index.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { ROOT } from './node-process.ts'

const STDERR = 2
const READY_POLL_MS = 20

const [broker, registryUrl, stateDir, path, name] = process.argv.slice(2)
const module = (await import(pathToFileURL(join(ROOT, path)).href)) as Readonly<Record<string, Topology>>
const topology = module[name]
const runtime = systemRuntime(pino({ level: 'warn' }, pino.destination(STDERR)))
const transport = kafkaTransport({ brokers: [broker], clientId: 'bench-topology' }, { runtime })
await transport.connect()
const backend = await openRocksdbBackend({ folder: stateDir })
const identity = memberIdentity(stateDir, topology.name)
const worker = createWorker({ topology }, { transport, registry: registryClient({ url: registryUrl }), backend, identity, runtime })
await worker.start()
process.on('SIGTERM', () => void worker.stop())
const ready = setInterval(() => {
  if (!worker.status().ready) return
  clearInterval(ready)
  process.stdout.write(`${JSON.stringify({ event: 'topology_started', at: Date.now() })}\n`)
}, READY_POLL_MS)
await worker.done
await transport.close()
await backend.close()
