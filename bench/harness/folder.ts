import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
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
  'OPENSEARCH_PORT',
  'API_PORT',
  'API_OPERATIONS_PORT',
  'WORKER_HEALTH_PORT',
  'DECIDER_HEALTH_PORT',
  'SHORT_PORT',
]

/** Rejects on Ctrl-C or SIGTERM, so that a benchmark can stop everything that it has started. */
export const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')))
})
interrupted.catch(() => {})

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
  return inFolder(async (folder) => {
    const started = await start(folder)
    try {
      return await Promise.race([use(started, folder), interrupted])
    } finally {
      await started.stop()
    }
  })
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
