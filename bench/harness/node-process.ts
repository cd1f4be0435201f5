import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { API_HEAP_ENV, API_HEAP_FLAGS } from '../../api/heap-flags.ts'
import { inheritedEnv } from '../../deploy/local/config.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const READY_TIMEOUT_MS = 120_000

/** A Node process that a benchmark has started. */
export interface NodeProcess {
  /** The parsed log line in which the process reported that it was ready. */
  readonly line: Record<string, unknown>
  readonly pid: number
  stop(): Promise<void>
}

/**
 * Starts one of the project's programs, and waits until it is ready.
 * @param event name of the event that the program logs when it is ready
 */
export function startNode(
  main: string,
  flags: readonly string[],
  env: Record<string, string>,
  event: string,
  args: readonly string[] = [],
): Promise<NodeProcess> {
  return startProgram(process.execPath, [...flags, join(ROOT, main), ...args], env, event)
}

/** Starts an API process with the same flags and heap limits as `npm start`. */
export function startApiProcess(flags: readonly string[], env: Record<string, string>): Promise<NodeProcess> {
  return startNode('api/main.ts', [...API_HEAP_FLAGS, ...flags], { ...API_HEAP_ENV, ...env }, 'api_started')
}

/** Starts a worker process with the same flags and heap settings as `npm start`. */
export function startWorkerProcess(flags: readonly string[], env: Record<string, string>): Promise<NodeProcess> {
  return startNode('pipelines/main.ts', [...BUFFER_HEAP_FLAGS, ...flags], { ...BUFFER_HEAP_ENV, ...env }, 'host_started')
}

/** Starts any program that logs a line of JSON when it is ready, in the same way as `startNode`. */
export async function startProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  event: string,
): Promise<NodeProcess> {
  const child: ChildProcess = spawn(program, args, {
    env: { ...inheritedEnv(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const line = await new Promise<Record<string, unknown>>((found, failed) => {
    void exited.then(() => failed(new Error(`${[program, ...args].join(' ')} ended before it was ready`)))
    createInterface({ input: child.stdout! }).on('line', (text) => {
      if (text.includes(`"${event}"`)) found(JSON.parse(text))
    })
  })
  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    await exited
  }
  return { line, pid: child.pid as number, stop }
}

/** Waits until the processes at these URLs are ready. */
export async function untilReady(...urls: readonly string[]): Promise<void> {
  for (const url of urls) await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { what: url, timeoutMs: READY_TIMEOUT_MS })
}

/** Returns the Node arguments that write a .cpuprofile to the folder; empty when there is no folder. */
export function profileTo(folder: string | undefined): string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`]
}
