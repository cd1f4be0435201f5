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

/** Performs job J2 while its processes are stopped and killed, with one thread or worker per process. */
export interface Contender {
  readonly label: string
  /** @param worker its `stateDir` belongs to this process and is kept across restarts */
  start(worker: WorkerEnvironment): Endings
  /** Returns how many members of its group have partitions. */
  workingMembers(brokers: string, group: string): Promise<number>
}

/** Logging is off, because stack traces about killed processes would fill the screen. */
const KAFKA_STREAMS = { THREADS: '1', VARIANT: 'default', LOG_LEVEL: 'off' }
const WORKER = fileURLToPath(new URL('../engine/worker-process.ts', import.meta.url))

export const engine: Contender = {
  label: 'engine',
  start(worker) {
    // Compiled code is cached as in production.
    const settings = { NODE_COMPILE_CACHE: join(worker.stateDir, '..', 'compile-cache') }
    return started(worker, (env) => spawn(process.execPath, [...BUFFER_HEAP_FLAGS, WORKER], { env: { ...env, ...settings }, stdio: STDIO }))
  },
  workingMembers: workingConsumers,
}

/** @throws PeerMissingError when the peer's program is missing */
export function kafkaStreams(peersDir: string): Contender {
  const script = join(peersDir, 'kafka-streams', 'run.sh')
  if (!existsSync(script))
    throw new PeerMissingError(`${script} does not exist; set PEERS_DIR to the folder that contains the peers' programs`)
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
