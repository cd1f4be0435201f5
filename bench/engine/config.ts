import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** What the benchmark's harness is told. */
export interface BenchConfig {
  /** Folder of the data sets; `fraud/transactions.csv.gz` is read. */
  readonly dataDir: string
  /** Where downloaded tools are, or are put. */
  readonly home: string
  /** host:port of a given broker; undefined: one is started. */
  readonly brokers: string | undefined
  readonly records: number
  readonly runs: number
  readonly commitIntervalMs: number
  /** A label for the line in bench/results.md; undefined: nothing is appended there. */
  readonly note: string | undefined
  /** Extra arguments of the worker's node, e.g. --cpu-prof. */
  readonly nodeArguments: readonly string[]
}

/** What a worker process is told: the variables of the peers' `run.sh`, so that their harness can run it too. */
export interface WorkerEnvironment {
  readonly brokers: string
  readonly input: string
  readonly output: string
  /** Consumer group, and the prefix of every internal topic. */
  readonly group: string
  readonly stateDir: string
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly commitIntervalMs: number
}

const DEFAULT_RECORDS = 1_000_000
const DEFAULT_RUNS = 3
const DEFAULT_COMMIT_MS = 100

function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}

/** @throws ZodError */
export function benchConfig(env: NodeJS.ProcessEnv = process.env): BenchConfig {
  const count = (standard: number) => z.coerce.number().int().positive().default(standard)
  const given = z
    .object({
      MILLRACE_DATA: z.string().default(inRepository('../shared/data')),
      MILLRACE_HOME: z.string().default(inRepository('.millrace')),
      KAFKA_BROKERS: z.string().optional(),
      BENCH_RECORDS: count(DEFAULT_RECORDS),
      BENCH_RUNS: count(DEFAULT_RUNS),
      COMMIT_MS: count(DEFAULT_COMMIT_MS),
      BENCH_NOTE: z.string().optional(),
      BENCH_NODE_ARGUMENTS: z.string().default(''),
    })
    .parse(env)
  return {
    dataDir: given.MILLRACE_DATA,
    home: given.MILLRACE_HOME,
    brokers: given.KAFKA_BROKERS,
    records: given.BENCH_RECORDS,
    runs: given.BENCH_RUNS,
    commitIntervalMs: given.COMMIT_MS,
    note: given.BENCH_NOTE,
    nodeArguments: given.BENCH_NODE_ARGUMENTS.split(' ').filter((part) => part !== ''),
  }
}

/** @throws ZodError */
export function workerEnvironment(env: NodeJS.ProcessEnv = process.env): WorkerEnvironment {
  const given = z
    .object({
      KAFKA_BROKERS: z.string(),
      IN_TOPIC: z.string(),
      OUT_TOPIC: z.string(),
      APP_ID: z.string(),
      STATE_DIR: z.string(),
      GUARANTEE: z.enum(['eos', 'alo']).default('eos'),
      COMMIT_MS: z.coerce.number().int().positive().default(DEFAULT_COMMIT_MS),
    })
    .parse(env)
  return {
    brokers: given.KAFKA_BROKERS,
    input: given.IN_TOPIC,
    output: given.OUT_TOPIC,
    group: given.APP_ID,
    stateDir: given.STATE_DIR,
    guarantee: given.GUARANTEE === 'eos' ? 'exactly-once' : 'at-least-once',
    commitIntervalMs: given.COMMIT_MS,
  }
}

/** The environment that a worker process starts with. */
export function workerProcessEnv(worker: WorkerEnvironment): NodeJS.ProcessEnv {
  return {
    ...process.env,
    KAFKA_BROKERS: worker.brokers,
    IN_TOPIC: worker.input,
    OUT_TOPIC: worker.output,
    APP_ID: worker.group,
    STATE_DIR: worker.stateDir,
    GUARANTEE: worker.guarantee === 'exactly-once' ? 'eos' : 'alo',
    COMMIT_MS: String(worker.commitIntervalMs),
  }
}
