import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localConfig } from '../../deploy/local/config.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { onStopSignal } from '../../scripts/command-line/stop-signal.ts'

const PORTS = [
  'KAFKA_PORT',
  'KAFKA_CONTROLLER_PORT',
  'REDIS_PORT',
  'CLICKHOUSE_PORT',
  'SCHEMA_REGISTRY_PORT',
  'OPENSEARCH_PORT',
  'API_PORT',
  'API_OPERATIONS_PORT',
  'WORKER_HEALTH_PORT',
  'DECIDER_HEALTH_PORT',
  'SHORT_PORT',
]

/**
 * How long the process may continue after an interrupted benchmark has stopped everything. Without this limit, retries
 * of requests to stopped servers would keep the process alive.
 */
const END_AFTER_MS = 1_000
/** Number of calls of `whileStarted` that have not finished. */
let unstopped = 0
let listens = false
let isInterrupted = false
const interruption = Promise.withResolvers<never>()
interruption.promise.catch(() => {})

/** Rejects on Ctrl-C or SIGTERM during a call of `whileStarted`. */
export const interrupted = interruption.promise

/**
 * Starts something, uses it and stops it, also after an interruption. When no call is running, a signal ends the
 * process at once. The first call adds the listener for signals. A listener cannot run during a long computation, but
 * without a listener, a signal ends the process even then.
 */
export async function whileStarted<S extends { stop(): Promise<void> }, T>(
  start: () => Promise<S>,
  use: (started: S) => Promise<T>,
): Promise<T> {
  unstopped++
  if (!listens) onStopSignal(interrupt)
  listens = true
  try {
    const started = await start()
    try {
      return await Promise.race([use(started), interrupted])
    } finally {
      await started.stop()
    }
  } finally {
    unstopped--
    if (isInterrupted && unstopped === 0) setTimeout(() => process.exit(1), END_AFTER_MS).unref()
  }
}

function interrupt(): void {
  if (unstopped === 0) process.exit(1)
  isInterrupted = true
  interruption.reject(new Error('interrupted'))
}

/** Runs `use` in a new temporary folder and deletes the folder afterwards. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts the servers of a benchmark in a new folder, uses them and stops them. */
export function withStarted<S extends { stop(): Promise<void> }, T>(
  start: (folder: string) => Promise<S>,
  use: (started: S, folder: string) => Promise<T>,
): Promise<T> {
  return inFolder((folder) =>
    whileStarted(
      () => start(folder),
      (started) => use(started, folder),
    ),
  )
}

/**
 * Returns settings for a stack that keeps its data in `folder` and listens only on free ports, so that it can run
 * alongside other stacks.
 */
export async function ownStack(folder: string): Promise<Record<string, string>> {
  mkdirSync(folder, { recursive: true })
  // Reuses the programs that `npm start` has already downloaded.
  const tools = join(localConfig().home, 'tools')
  mkdirSync(tools, { recursive: true })
  // If an earlier run used this folder, the link already exists.
  if (!existsSync(join(folder, 'tools'))) symlinkSync(tools, join(folder, 'tools'))
  const ports = await Promise.all(PORTS.map(async (name) => [name, String(await freePort())]))
  return { ...Object.fromEntries(ports), MILLRACE_HOME: folder }
}
