import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface WorkerProcess {
  readonly child: ChildProcess
  /** Base URL of the worker's status endpoints. */
  readonly url: string
  /** All lines that the process has logged so far. */
  readonly lines: readonly Record<string, unknown>[]
  /** Returns whether all topologies and sinks of the worker are ready. */
  isReady(): Promise<boolean>
  /** Sends SIGKILL, and waits until the process has ended. */
  kill(): Promise<void>
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
  /** Resolves when the process has ended for any reason. */
  readonly ended: Promise<unknown>
}

/**
 * Starts a real worker process with its state in `folder`. The folder's guardian kills the process if the test does not
 * stop it.
 * @param root the checkout of the repository whose worker is started
 */
export async function startWorkerProcess(folder: string, env: Record<string, string>, root = ROOT): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [join(root, 'pipelines/main.ts')], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, MILLRACE_HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: Record<string, unknown>[] = []
  const exited = once(child, 'close')
  const port = await new Promise<number>((resolve, reject) => {
    let failure = ''
    child.stderr.on('data', (data) => {
      failure += data
    })
    exited.then(([code]) => reject(new Error(`the worker ended with ${code}: ${failure}`)))
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Record<string, unknown>
      lines.push(line)
      if (line.event === 'host_started') resolve(line.health_port as number)
    })
  })

  const url = `http://127.0.0.1:${port}`

  async function ended(signal: NodeJS.Signals): Promise<number | null> {
    child.kill(signal)
    const [code] = await exited
    return code
  }

  return {
    child,
    lines,
    url,
    isReady: async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
    kill: async () => void (await ended('SIGKILL')),
    stop: () => ended('SIGTERM'),
    ended: exited,
  }
}
