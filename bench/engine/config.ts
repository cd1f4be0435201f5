import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { COMPRESSIONS, type Compression } from '../../kafka/transport.ts'
import type { ValuesOf } from '../../scripts/command-line/command.ts'
import { type Guarantee, JOB_NAMES, type JobName, MAX_STATE_PADDING, type PEER_JOINS, type PEER_STATES, type PeerName } from './names.ts'
import type declaration from './run.command.ts'

/**
 * Configuration of the benchmark. Options select what is compared; environment variables contain paths, the broker's
 * address and Node arguments.
 */
export interface BenchConfig {
  readonly job: JobName
  /** The peer; undefined measures only the engine. */
  readonly peer: PeerName | undefined
  /** Settings of the peer: its defaults, or the usual tuning. */
  readonly variant: 'default' | 'tuned'
  /** Where Flink keeps its state. */
  readonly peerState: (typeof PEER_STATES)[number]
  /** How the join in Kafka Streams is implemented: with its DSL or with processors. */
  readonly peerJoin: (typeof PEER_JOINS)[number]
  readonly guarantee: Guarantee
  /** Number of engine processes. */
  readonly workers: number
  /** Number of threads or processes of the peer. */
  readonly peerWorkers: number
  readonly records: number
  readonly runs: number
  readonly commitIntervalMs: number
  /** Compression of the records that the engine writes. */
  readonly compression: Compression
  /** Number of cards in job J2. If undefined, the cards of the data set are used. */
  readonly cards: number | undefined
  /** Number of bytes that J2 adds to the state of each card. */
  readonly statePadding: number
  /** Memory limit of each contender in MiB, including its page cache. */
  readonly memoryMib: number | undefined
  /**
   * Rate in records per second. If set, the benchmark measures latency instead of throughput: the time from when a
   * record is due to be sent until a reader receives its output.
   */
  readonly latencyRate: number | undefined
  /** Folder of the public data sets. */
  readonly dataDir: string
  /** Folder that contains the peers' programs, each with a `run.sh`. */
  readonly peersDir: string
  /** host:port of an external broker; if undefined, the benchmark starts a broker. */
  readonly brokers: string | undefined
  /** Additional Node arguments for workers, such as --cpu-prof. */
  readonly nodeArguments: readonly string[]
}

/**
 * Settings that a contender's process reads from its environment. The peers' `run.sh` scripts read the same settings.
 */
export interface WorkerEnvironment {
  readonly job: JobName
  readonly brokers: string
  readonly input: string
  readonly output: string
  /** Name of the consumer group. It is also the prefix of all internal topics. */
  readonly group: string
  readonly stateDir: string
  readonly guarantee: Guarantee
  readonly commitIntervalMs: number
  readonly compression: Compression
  /** Number of standbys of each task. */
  readonly standby?: 0 | 1
  /** Number of bytes that J2 adds to the state of each card. Default 0. */
  readonly statePadding?: number
  /** Memory limit of the contender in MiB, including its page cache. */
  readonly memoryMib?: number | undefined
}

const DEFAULT_COMMIT_MS = 100

function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}

/** @throws ZodError when the environment is invalid */
export function benchConfig(asked: ValuesOf<typeof declaration>, env: NodeJS.ProcessEnv = process.env): BenchConfig {
  const given = z
    .object({
      MILLRACE_DATA: z.string().default(inRepository('../shared/data')),
      PEERS_DIR: z.string().default(inRepository('../shared/peers')),
      KAFKA_BROKERS: z.string().optional(),
      BENCH_NODE_ARGUMENTS: z.string().default(''),
    })
    .parse(env)
  return {
    job: asked.job,
    peer: asked.peer,
    variant: asked.variant,
    peerState: asked['peer-state'],
    peerJoin: asked['peer-join'],
    guarantee: asked.guarantee,
    workers: asked.workers,
    peerWorkers: asked['peer-workers'] ?? asked.workers,
    records: asked.records,
    runs: asked.runs,
    commitIntervalMs: asked['commit-ms'],
    compression: asked.compression,
    cards: asked.cards,
    statePadding: asked['state-padding'],
    memoryMib: asked.memory,
    latencyRate: asked.latency,
    dataDir: given.MILLRACE_DATA,
    peersDir: given.PEERS_DIR,
    brokers: given.KAFKA_BROKERS,
    nodeArguments: given.BENCH_NODE_ARGUMENTS.split(' ').filter((part) => part !== ''),
  }
}

/** Reads the environment of a contender's process. @throws ZodError when the environment is invalid */
export function workerEnvironment(env: NodeJS.ProcessEnv = process.env): WorkerEnvironment {
  const given = z
    .object({
      JOB: z.string().toUpperCase().pipe(z.enum(JOB_NAMES)),
      KAFKA_BROKERS: z.string(),
      IN_TOPIC: z.string(),
      OUT_TOPIC: z.string(),
      APP_ID: z.string(),
      STATE_DIR: z.string(),
      GUARANTEE: z.enum(['eos', 'alo']).default('eos'),
      COMMIT_MS: z.coerce.number().int().positive().default(DEFAULT_COMMIT_MS),
      COMPRESSION: z.enum(COMPRESSIONS).default('none'),
      STANDBY: z.enum(['0', '1']).default('0'),
      STATE_PADDING: z.coerce.number().int().min(0).max(MAX_STATE_PADDING).default(0),
      MEMORY_MIB: z.coerce.number().int().positive().optional(),
    })
    .parse(env)
  return {
    job: given.JOB,
    brokers: given.KAFKA_BROKERS,
    input: given.IN_TOPIC,
    output: given.OUT_TOPIC,
    group: given.APP_ID,
    stateDir: given.STATE_DIR,
    guarantee: given.GUARANTEE === 'eos' ? 'exactly-once' : 'at-least-once',
    commitIntervalMs: given.COMMIT_MS,
    compression: given.COMPRESSION,
    standby: given.STANDBY === '1' ? 1 : 0,
    statePadding: given.STATE_PADDING,
    memoryMib: given.MEMORY_MIB,
  }
}

/**
 * Returns the environment for a contender's process: the environment of this process with the worker's variables added.
 */
export function workerProcessEnv(worker: WorkerEnvironment): NodeJS.ProcessEnv {
  return {
    ...process.env,
    JOB: worker.job.toLowerCase(),
    KAFKA_BROKERS: worker.brokers,
    IN_TOPIC: worker.input,
    OUT_TOPIC: worker.output,
    APP_ID: worker.group,
    STATE_DIR: worker.stateDir,
    GUARANTEE: worker.guarantee === 'exactly-once' ? 'eos' : 'alo',
    COMMIT_MS: String(worker.commitIntervalMs),
    COMPRESSION: worker.compression,
    STANDBY: String(worker.standby ?? 0),
    STATE_PADDING: String(worker.statePadding ?? 0),
    ...(worker.memoryMib === undefined ? {} : { MEMORY_MIB: String(worker.memoryMib) }),
  }
}
