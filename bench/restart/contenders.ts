import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { type WorkerEnvironment, workerProcessEnv } from '../engine/config.ts'
import { PeerMissingError } from '../peer-missing.ts'
import { childEnvironment } from './config.ts'
import { type Endings, endings } from './endings.ts'
import { workingClassicMembers, workingConsumers } from './group-shares.ts'

/**
 * A contender that runs job J2 while its processes are stopped and killed. A process of the engine has one worker, and
 * a process of Kafka Streams has one thread.
 */
export interface Contender {
  readonly label: string
  /**
   * @param worker environment of the process; its `stateDir` belongs to this process alone and is kept across restarts
   * @param settings further environment variables
   */
  start(worker: WorkerEnvironment, settings?: Readonly<Record<string, string>>): Endings
  /** Returns the number of members of the group that have partitions. */
  workingMembers(brokers: string, group: string): Promise<number>
}

/** Settings of the peer's program. Logging is off, because the kills would fill the screen with stack traces. */
const KAFKA_STREAMS = { THREADS: '1', VARIANT: 'default', LOG_LEVEL: 'off' }
const WORKER = fileURLToPath(new URL('../engine/worker-process.ts', import.meta.url))

export const engine: Contender = {
  label: 'engine',
  start(worker) {
    // Caches compiled code on disk, as in production.
    const settings = { NODE_COMPILE_CACHE: join(worker.stateDir, '..', 'compile-cache') }
    return started(worker, (env) => spawn(process.execPath, [...BUFFER_HEAP_FLAGS, WORKER], { env: { ...env, ...settings }, stdio: STDIO }))
  },
  workingMembers: workingConsumers,
}

/**
 * Environment variable from which the peer's program reads further settings of Kafka Streams, in the format
 * name=value,name=value.
 */
const SETTINGS_VARIABLE = 'STREAMS_PROPERTIES'
/**
 * Settings that users of Kafka Streams choose when they scale workers, with the same session timeout as the engine.
 */
const SCALING = {
  'num.standby.replicas': '1',
  'main.consumer.session.timeout.ms': '6000',
  'main.consumer.heartbeat.interval.ms': '1000',
  // The shortest interval that Kafka Streams allows. After a standby has caught up, its task moves to the standby's
  // worker within this interval.
  'probing.rebalance.interval.ms': '60000',
}

/** @throws PeerMissingError when the peer's program is missing, or does not read further settings */
export function scalingKafkaStreams(peersDir: string): Contender {
  const { start, ...rest } = kafkaStreams(peersDir)
  const program = join(peersDir, 'kafka-streams', 'src', 'main', 'java', 'peers', 'App.java')
  if (!readFileSync(program, 'utf8').includes(SETTINGS_VARIABLE))
    throw new PeerMissingError(`${program} does not read ${SETTINGS_VARIABLE}, so Kafka Streams would run without standbys`)
  return {
    ...rest,
    label: 'Kafka Streams, standbys, static members, session timeout 6 s, probing every 60 s',
    start(worker) {
      const properties = Object.entries({ ...SCALING, 'main.consumer.group.instance.id': basename(worker.stateDir) })
      return start(worker, { [SETTINGS_VARIABLE]: properties.map(([name, value]) => `${name}=${value}`).join(',') })
    },
  }
}

/** @throws PeerMissingError when the peer's program is missing */
export function kafkaStreams(peersDir: string): Contender {
  const script = join(peersDir, 'kafka-streams', 'run.sh')
  if (!existsSync(script))
    throw new PeerMissingError(`${script} does not exist; set PEERS_DIR to the folder that contains the peers' programs`)
  return {
    label: 'Kafka Streams, default settings',
    start: (worker, settings) =>
      started(worker, (env) => spawn(script, [], { env: { ...env, ...KAFKA_STREAMS, ...settings }, stdio: STDIO })),
    workingMembers: workingClassicMembers,
  }
}

const STDIO: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit']

function started(worker: WorkerEnvironment, spawnOne: (env: NodeJS.ProcessEnv) => ChildProcess): Endings {
  mkdirSync(worker.stateDir, { recursive: true })
  const child = spawnOne(childEnvironment(workerProcessEnv(worker) as Record<string, string>))

  return endings(child)
}
