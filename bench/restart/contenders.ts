import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { type WorkerEnvironment, workerProcessEnv } from '../engine/config.ts'
import { PeerMissingError } from '../peer-missing.ts'
import { childEnvironment } from './config.ts'
import { type Endings, endings } from './endings.ts'
import { workingClassicMembers, workingConsumers } from './group-shares.ts'

/** Who does job J2 while its processes are ill-treated: one thread or worker in each. */
export interface Contender {
  readonly label: string
  /** @param worker its `stateDir` is this process's own, and kept from life to life */
  start(worker: WorkerEnvironment): Endings
  /** How many members of its group have partitions. */
  workingMembers(brokers: string, group: string): Promise<number>
}

/** What it says of the processes that were ended fills the screen with stack traces. */
const KAFKA_STREAMS = { THREADS: '1', VARIANT: 'default', LOG_LEVEL: 'off' }
const WORKER = fileURLToPath(new URL('../engine/worker-process.ts', import.meta.url))

export const engine: Contender = {
  label: 'engine',
  start(worker) {
    // As in production: what was compiled once is compiled.
    const settings = { NODE_COMPILE_CACHE: join(worker.stateDir, '..', 'compile-cache') }
    return started(worker, (env) => spawn(process.execPath, [...BUFFER_HEAP_FLAGS, WORKER], { env: { ...env, ...settings }, stdio: STDIO }))
  },
  workingMembers: workingConsumers,
}

/** @throws PeerMissingError when the peer's program is not there */
export function kafkaStreams(peersDir: string): Contender {
  const script = join(peersDir, 'kafka-streams', 'run.sh')
  if (!existsSync(script)) throw new PeerMissingError(`there is no ${script}; set PEERS_DIR to the folder that holds the peers' programs`)
  return {
    label: 'Kafka Streams, default settings',
    start: (worker) => started(worker, (env) => spawn(script, [], { env: { ...env, ...KAFKA_STREAMS }, stdio: STDIO })),
    workingMembers: workingClassicMembers,
  }
}

const STDIO: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit']

function started(worker: WorkerEnvironment, spawnOne: (env: NodeJS.ProcessEnv) => ChildProcess): Endings {
  mkdirSync(worker.stateDir, { recursive: true })
  const child = spawnOne(childEnvironment(workerProcessEnv(worker) as Record<string, string>))

  return endings(child)
}
