import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localConfig } from '../../deploy/local/config.ts'
import { freePort } from '../../deploy/local/ports.ts'

const PORTS = [
  'KAFKA_PORT',
  'KAFKA_CONTROLLER_PORT',
  'REDIS_PORT',
  'CLICKHOUSE_PORT',
  'SCHEMA_REGISTRY_PORT',
  'API_PORT',
  'WORKER_HEALTH_PORT',
  'DECIDER_HEALTH_PORT',
  'SHORT_PORT',
]

/** Ctrl-C ends a benchmark in order: what it has started is stopped. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')))
})
interrupted.catch(() => {})

/** Runs in a new folder, and leaves nothing of it behind. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts what a benchmark needs in a new folder, uses it, and stops it. */
export function withStarted<S extends { stop(): Promise<void> }, T>(
  start: (folder: string) => Promise<S>,
  use: (started: S, folder: string) => Promise<T>,
): Promise<T> {
  return inFolder(async (folder) => {
    const started = await start(folder)
    try {
      return await Promise.race([use(started, folder), interrupted])
    } finally {
      await started.stop()
    }
  })
}

/** Settings with which a stack has `folder` to itself, on free ports, beside whatever else runs. */
export async function ownStack(folder: string): Promise<Record<string, string>> {
  mkdirSync(folder, { recursive: true })
  // What npm start has downloaded already is not fetched again.
  const tools = join(localConfig().home, 'tools')
  mkdirSync(tools, { recursive: true })
  symlinkSync(tools, join(folder, 'tools'))
  const ports = await Promise.all(PORTS.map(async (name) => [name, String(await freePort())]))
  return { ...Object.fromEntries(ports), MILLRACE_HOME: folder }
}
