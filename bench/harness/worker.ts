import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { inheritedEnv } from '../../deploy/local/config.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { ROOT } from './node-process.ts'
import type { BenchServers } from './servers.ts'

/** A worker process that the benchmark starts in the same way as `npm start` does. */
export interface WorkerProcess {
  readonly pid: number
  /** Returns the number of running tasks. */
  tasks(): Promise<number>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** @throws Error when the process has ended */
  check(): void
  /** Returns the size of the worker's state folder in bytes. */
  stateBytes(): number
  readonly stateFolder: string
  stop(): Promise<void>
  /** Kills the process with SIGKILL, so that it cannot stop cleanly. */
  kill(): Promise<void>
}

const MAIN = join(ROOT, 'pipelines/main.ts')
const STOP_MS = 25_000

/**
 * Starts a worker.
 * @param pipeline name of the service whose pipelines the worker runs
 */
export async function startWorker(
  servers: BenchServers,
  slot: number,
  nodeArguments: readonly string[],
  pipeline: 'trends' | 'clicks' = 'trends',
): Promise<WorkerProcess> {
  const { home, env } = servers
  const port = await freePort()
  const logFile = join(home.logs, `worker-${slot}.log`)
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [...BUFFER_HEAP_FLAGS, ...nodeArguments, MAIN], {
    env: {
      ...inheritedEnv(),
      ...BUFFER_HEAP_ENV,
      ...env,
      PIPELINES: pipeline,
      WORKER_SLOT: String(slot),
      STATE_DIR: home.state,
      HEALTH_PORT: String(port),
      LOG_LEVEL: 'info',
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const exited = once(child, 'exit')
  // Kills the worker when the benchmark is interrupted or fails.
  process.once('exit', () => child.kill('SIGKILL'))
  const stateFolder = join(home.state, `worker-${slot}`)

  async function tasks(): Promise<number> {
    check()
    const response = await fetch(`http://127.0.0.1:${port}/tasks`)
    const report = (await response.json()) as Record<string, { tasks: { state: string }[] }>
    return report[pipeline].tasks.filter(({ state }) => state === 'RUNNING').length
  }

  function check(): void {
    if (child.exitCode !== null) throw new Error(`worker ${slot} exited with code ${child.exitCode}: see ${logFile}`)
  }

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(timer)
  }

  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }

  return {
    stateFolder,
    kill,
    pid: child.pid ?? 0,
    tasks,
    signal: (signal) => void child.kill(signal),
    check,
    stateBytes: () => bytesIn(stateFolder),
    stop,
  }
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((sum, file) => {
    // The database may delete a file at any time, so a file that is missing is ignored.
    const found = statSync(join(folder, file), { throwIfNoEntry: false })
    return sum + (found?.isFile() === true ? found.size : 0)
  }, 0)
}
