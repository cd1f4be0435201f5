import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { memoryLimit } from '../harness/memory-limit.ts'
import { cpuSeconds, peakRssMib, writtenBytes } from '../harness/process-stats.ts'
import { PeerMissingError } from '../peer-missing.ts'
import { type BenchConfig, type WorkerEnvironment, workerProcessEnv } from './config.ts'
import type { Guarantee, JobName, PeerName } from './names.ts'

/** A participant in the comparison: the engine or a peer. */
export interface Contender {
  readonly label: string
  /** Starts the contender's processes, each with a separate folder below `worker.stateDir`. */
  start(worker: WorkerEnvironment): Running
}

/** The processes of one run. */
export interface Running {
  /**
   * Calls `onFirst` once, when the contender reports its first input record. `at` is the time of the report, epoch ms.
   */
  watch(onFirst: (at: number) => void): void
  /** Calls `onLine` with the words of each line that a process of the contender prints. */
  listen(onLine: (words: readonly string[]) => void): void
  cpuSeconds(): number
  peakRssMib(): number
  /** Number of bytes that the processes have written to files so far. */
  writtenBytes(): number
  /** @throws ContenderEndedError when a process has ended */
  expectAlive(): void
  stop(): Promise<void>
}

/** Thrown when a process of a contender has ended before it was stopped. */
export class ContenderEndedError extends Error {
  override readonly name = 'ContenderEndedError'
}

const STOP_MS = 25_000
const WORKER = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
const LIMIT = fileURLToPath(new URL('./limit/process.ts', import.meta.url))

/**
 * The jobs and guarantees that each peer supports. Some peers do not implement every job, and some have no
 * transactions.
 */
const PEER_JOBS: Readonly<Record<PeerName, { readonly jobs: readonly JobName[]; readonly guarantees: readonly Guarantee[] }>> = {
  'kafka-streams': { jobs: ['J1', 'J2', 'J3'], guarantees: ['exactly-once', 'at-least-once'] },
  flink: { jobs: ['J1', 'J2'], guarantees: ['exactly-once', 'at-least-once'] },
  goka: { jobs: ['J1', 'J2'], guarantees: ['at-least-once'] },
  quix: { jobs: ['J1', 'J2'], guarantees: ['exactly-once', 'at-least-once'] },
  limit: { jobs: ['J1', 'J2'], guarantees: ['exactly-once'] },
}

export function engineContender({ workers, nodeArguments }: Pick<BenchConfig, 'workers' | 'nodeArguments'>): Contender {
  return {
    label: `engine, ${workers} worker${workers > 1 ? 's' : ''}`,
    start: (worker) => run(workers, worker, nodeProgram(WORKER, worker, nodeArguments)),
  }
}

/**
 * @throws PeerMissingError when the peer's program is missing
 * @throws Error when the peer does not support the job or guarantee
 */
export function peerContender(peer: PeerName, config: BenchConfig): Contender {
  const { jobs, guarantees } = PEER_JOBS[peer]
  const { job, guarantee, variant, peerState, peerJoin, peerWorkers, peersDir } = config
  if (!jobs.includes(job)) throw new Error(`${peer} does not implement job ${job}: choose one of ${jobs.join(', ')}`)
  if (!guarantees.includes(guarantee)) throw new Error(`${peer} only supports ${guarantees.join(', ')}: add --guarantee ${guarantees[0]}`)
  if (peer === 'limit') return limitContender(config)
  const script = join(peersDir, peer, 'run.sh')
  if (!existsSync(script))
    throw new PeerMissingError(`${script} does not exist; set PEERS_DIR to the folder that contains the peers' programs`)
  // Python runs one thread at a time, so Quix needs several processes to use several cores.
  const processes = peer === 'quix' ? peerWorkers : 1
  const unit = peer === 'quix' ? 'process' : 'thread'
  const state = peer === 'flink' ? `, ${peerState} state` : ''
  const hasJoin = peer === 'kafka-streams' && job === 'J3'
  const settings = {
    THREADS: String(peerWorkers),
    VARIANT: variant,
    STATE_BACKEND: peerState === 'heap' ? 'hashmap' : peerState,
    ...(hasJoin && peerJoin === 'processor' ? { JOB: 'j3p' } : {}),
  }
  const detail = `${variant}${state}${hasJoin ? `, ${peerJoin} join` : ''}`
  return {
    label: peer === 'goka' ? `${peer}, ${detail}` : `${peer}, ${detail}, ${peerWorkers} ${unit}${peerWorkers > 1 ? 's' : ''}`,
    start: (worker) => run(processes, worker, { command: script, args: [], settings }),
  }
}

function limitContender({ nodeArguments }: Pick<BenchConfig, 'nodeArguments'>): Contender {
  return {
    label: 'limit, a loop without an engine',
    start: (worker) => run(1, worker, nodeProgram(LIMIT, worker, nodeArguments)),
  }
}

const STDIO: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']

/**
 * The program of a contender. `settings` are its environment variables in addition to those that all contenders get.
 */
interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly settings: Readonly<Record<string, string>>
}

/**
 * Initial and maximum size of V8's heap, as shares of the memory limit. The shares are small for two reasons. Together
 * with buffers outside the heap, V8 uses up to twice the heap's maximum size. The database gets a separate share
 * (worker-process.ts).
 */
const INITIAL_HEAP_SHARE = 0.1
const HEAP_SHARE = 0.15
/** Size of V8's semi-spaces under a memory limit, in MiB. */
const SEMI_SPACE_MIB = 8

function nodeProgram(file: string, { memoryMib }: WorkerEnvironment, nodeArguments: readonly string[]): Program {
  const limits =
    memoryMib === undefined
      ? []
      : [
          `--initial-heap-size=${Math.ceil(memoryMib * INITIAL_HEAP_SHARE)}`,
          `--max-old-space-size=${Math.ceil(memoryMib * HEAP_SHARE)}`,
          `--max-semi-space-size=${SEMI_SPACE_MIB}`,
        ]
  return { command: process.execPath, args: [...BUFFER_HEAP_FLAGS, ...limits, ...nodeArguments, file], settings: BUFFER_HEAP_ENV }
}

function run(processes: number, worker: WorkerEnvironment, program: Program): Running {
  const limit = worker.memoryMib === undefined ? undefined : memoryLimit(worker.memoryMib, worker.group)
  const [command, args] = limit?.wrap(program.command, program.args) ?? [program.command, program.args]
  const children = Array.from({ length: processes }, (_, i) => {
    const stateDir = join(worker.stateDir, String(i))
    mkdirSync(stateDir, { recursive: true })
    return spawn(command, args, { env: { ...workerProcessEnv({ ...worker, stateDir }), ...program.settings }, stdio: STDIO })
  })
  const pids = children.flatMap(({ pid }) => pid ?? [])
  function listen(onLine: (words: readonly string[]) => void): void {
    for (const { stdout } of children) createInterface({ input: stdout }).on('line', (line) => onLine(line.split(' ')))
  }

  return {
    listen,
    watch(onFirst) {
      let seen = false
      listen(([word, ms]) => {
        if (word !== 'FIRST_RECORD' || seen) return
        seen = true
        onFirst(Number(ms))
      })
    },
    cpuSeconds: () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    peakRssMib: () => pids.reduce((sum, pid) => sum + peakRssMib(pid), 0),
    writtenBytes: () => pids.reduce((sum, pid) => sum + writtenBytes(pid), 0),
    expectAlive() {
      const ended = children.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
      if (ended !== undefined)
        throw new ContenderEndedError(`a process ended with ${ended.exitCode === null ? ended.signalCode : `exit code ${ended.exitCode}`}`)
    },
    async stop() {
      await Promise.all(children.map(stop))
      limit?.remove()
    },
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(timer)
}
