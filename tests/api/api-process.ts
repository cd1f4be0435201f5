import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface ApiProcess {
  readonly url: string
  /** Address of the listener for short domains; undefined if the links service does not run. */
  readonly shortUrl: string | undefined
  /** Base URL of the listener that serves the metrics. */
  readonly operationsUrl: string
  /** All lines that the process has logged so far. */
  readonly lines: readonly Record<string, unknown>[]
  readonly child: ChildProcess
  /** Returns the error output of the process so far, such as the reason why the process ended. */
  failure(): string
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
}

/**
 * Starts the real API process on free ports, with `folder` as its working folder. The folder's guardian kills the
 * process if the test does not stop it.
 * @param root the checkout of the repository whose API is started
 */
export async function startApiProcess(folder: string, env: Record<string, string>, root = ROOT): Promise<ApiProcess> {
  const child = spawn(process.execPath, [join(root, 'api/main.ts')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      API_PORT: '0',
      SHORT_PORT: '0',
      MILLRACE_HOME: folder,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: Record<string, unknown>[] = []
  const exited = once(child, 'close')
  let failure = ''
  const started = await new Promise<Record<string, unknown>>((resolve, reject) => {
    child.stderr.on('data', (data) => {
      failure += data
    })
    exited.then(([code]) => reject(new Error(`the API ended with ${code}: ${failure}`)))
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Record<string, unknown>
      lines.push(line)
      if (line.event === 'api_started') resolve(line)
    })
  })
  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    const [code] = await exited
    return code
  }
  return {
    url: started.url as string,
    shortUrl: started.short_url as string | undefined,
    operationsUrl: started.operations_url as string,
    lines,
    child,
    failure: () => failure,
    stop,
  }
}
