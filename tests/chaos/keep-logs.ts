import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiProcess } from '../api/api-process.ts'
import type { System } from '../e2e/system.ts'

/**
 * Time limit for fetching one page of a process. It ensures that a process that hangs does not prevent the other
 * reports from being copied.
 */
const PAGE_TIMEOUT_MS = 5_000

/**
 * Copies the evidence of a failed run before its folder is deleted: all logs, and each worker's report of its tasks.
 * @returns the target
 */
export async function keepLogs({ workers, env }: System, target: string): Promise<string> {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const folder = dirname(env.MILLRACE_HOME)
  for (const name of readdirSync(folder)) if (name.endsWith('.log')) cpSync(join(folder, name), join(target, name))
  cpSync(join(env.MILLRACE_HOME, 'logs'), target, { recursive: true })
  for (const [slot, { address }] of workers.entries()) {
    const asked = fetch(`${address}/tasks`, { signal: AbortSignal.timeout(PAGE_TIMEOUT_MS) }).then((answer) => answer.text())
    writeFileSync(join(target, `tasks-${slot}.json`), await asked.catch(String))
  }
  return target
}

/**
 * Copies the evidence of a failed test that keeps the log lines of its processes in memory: these lines, the servers'
 * logs, and what each process reports about its tasks, its readiness and its metrics.
 * @returns the target
 */
export async function keepLines(
  folder: string,
  processes: Readonly<Record<string, Pick<ApiProcess, 'lines' | 'url'> & Partial<Pick<ApiProcess, 'operationsUrl'>>>>,
  target: string,
): Promise<string> {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(folder)) if (name.endsWith('.log')) cpSync(join(folder, name), join(target, name))
  for (const [name, { lines, url, operationsUrl = url }] of Object.entries(processes)) {
    writeFileSync(join(target, `${name}.log`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    for (const page of ['tasks', 'readyz', 'metrics']) {
      const asked = fetch(`${operationsUrl}/${page}`, { signal: AbortSignal.timeout(PAGE_TIMEOUT_MS) }).then((answer) => answer.text())
      writeFileSync(join(target, `${name}-${page}.txt`), await asked.catch(String))
    }
  }
  return target
}

/** Names the processes after their kind and number, as in `api0`. */
export function numbered<P>(kind: string, processes: readonly P[]): Record<string, P> {
  return Object.fromEntries(processes.map((process, index) => [`${kind}${index}`, process]))
}
